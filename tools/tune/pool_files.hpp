// tools/tune/pool_files.hpp: what is written of chosen pools: a C++ header, and its certificate, a
// JSON with what is claimed of them. Layer: tune.
//
// docs/tuning.md lists the fields. `ashlar tune verify` shares no code with this: it reads the
// documented form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tune/tuning.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::tune {

inline constexpr std::uint64_t certificate_version = 2;

struct certified_tuning {
  tuning made;
  std::vector<input_identity> inputs;
  input_request read_as;
  std::uint64_t margin_percent = 0;
  std::string ashlar_version;
};

[[nodiscard]] std::string claim_of(const certified_tuning& made);
[[nodiscard]] std::string certificate(const certified_tuning& made);

/// Whether a header can have a namespace of this name: identifiers, between them "::".
[[nodiscard]] bool is_namespace_name(const std::string& name);

/// Returns: a header with a static_pool_set and a pool_set of the classes in `space`, their figures
/// as constants, and static_asserts that sizes are what was counted with. Requires:
/// is_namespace_name(space).
[[nodiscard]] std::string pools_header(const certified_tuning& made, const std::string& space);

}  // namespace ashlar::tune
