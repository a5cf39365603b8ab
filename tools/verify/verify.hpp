// tools/verify/verify.hpp: whether a certificate of `ashlar tune` is true. Layer: verify.
//
// Nothing here comes from tools/tune: what docs/tuning.md says of a certificate is worked out again, from the traces.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::verify {

/// The certificate says what is not so; the message names it, what the certificate says and what is.
struct refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Effects: tells each thing that is found right. `files`: the traces in the certificate's order, where they are not at its
/// paths; else none. Throws: refused; std::runtime_error where a trace cannot be read (trace_error is one), or the text is
/// no certificate that this version knows; std::bad_alloc where there is no memory for the pools.
void verify(std::string_view certificate, const std::vector<std::string>& files,
            const std::function<void(std::string_view)>& tell);

}  // namespace ashlar::verify
