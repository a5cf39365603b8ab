// tools/trace/rust_names.hpp: Rust's newer names of functions ("v0", RFC 2603), as Rust writes them.
// Layer: trace.
//
//   _RNvMNtC1r5storeINtB2_4KeepNtC5alloc6StringE4fill
//   <r::store::Keep<alloc::String>>::fill
#pragma once

#include <string>
#include <string_view>

namespace ashlar::trace {

/// Returns: the name without hashes of crates and without lifetimes; empty where `symbol` is none of
/// these, or says more than 10,000 letters do.
std::string rust_name(std::string_view symbol);

}  // namespace ashlar::trace
