// tools/tune/certificate.hpp: the chosen classes as JSON, with what is claimed of them. Layer: tune.
//
// docs/tuning.md lists the fields. `ashlar verify` shares no code with this: it reads the documented form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tune/input_workload.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::tune {

inline constexpr std::uint64_t certificate_version = 2;

struct certified_tuning {
  tuning made;
  std::vector<input_identity> inputs;
  input_request read_as;
  std::uint64_t margin_percent = 0;
  bool borrow = false;
  std::string ashlar_version;
};

[[nodiscard]] std::string claim_of(const certified_tuning& made);
[[nodiscard]] std::string certificate(const certified_tuning& made);

}  // namespace ashlar::tune
