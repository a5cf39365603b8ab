//! Compiles the library's C++ sources, and the functions that `src/heap.rs` and `src/heap_instance.rs` call.

#[cfg(not(feature = "heap"))]
fn main() {}

#[cfg(feature = "heap")]
fn main() {
    use std::{env, fs};

    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=src/global_alloc.cpp");
    println!("cargo:rerun-if-changed=src/heap_instance.cpp");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        panic!("ashlar: the heap is for Linux");
    }
    let sources = fs::read_to_string("sources.txt")
        .expect("sources.txt is missing: `make crate` of ashlar's repository writes it");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        // The library throws nothing and asks nothing of the C++ library; nor is it slow in a debug build.
        .cpp_link_stdlib(None)
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .flag("-fno-threadsafe-statics")
        .flag("-fvisibility=hidden")
        .opt_level(2)
        .debug(false)
        .define("NDEBUG", None)
        .include("cpp")
        .file("src/global_alloc.cpp")
        .file("src/heap_instance.cpp")
        .files(sources.lines().map(|source| format!("cpp/ashlar/{source}")))
        .warnings(false)
        .compile("ashlar_rust");
}
