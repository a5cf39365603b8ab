# The library of this checkout for vcpkg, as an overlay port. Not tested: see packaging/README.md.
set(SOURCE_PATH ${CURRENT_PORT_DIR}/../../..)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
  OPTIONS -DASHLAR_BUILD_TOOLS=OFF -DASHLAR_BUILD_TESTS=OFF -DASHLAR_BUILD_EXAMPLES=OFF -DASHLAR_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ashlar)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
