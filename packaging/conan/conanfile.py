"""The library of this checkout for Conan 2: `conan create packaging/conan`."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Ashlar(ConanFile):
    name = "ashlar"
    version = "0.1.0"
    license = "MIT"
    description = "Fixed-block memory management for C and C++"
    settings = "os", "compiler", "build_type", "arch"

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "*.md", "ashlar/*", "cmake/*", "scripts/c_manual.py"):
            copy(self, pattern, checkout, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TOOLS", "TESTS", "EXAMPLES", "BENCH"):
            toolchain.variables[f"ASHLAR_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The installed ashlarConfig.cmake has the targets, with the flags that the library needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "ashlar")]
        self.cpp_info.libs = ["ashlar"]
        self.cpp_info.system_libs = ["pthread"]
