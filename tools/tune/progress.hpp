// tools/tune/progress.hpp: how far a long work has come. Layer: tune.
#pragma once

#include <functional>
#include <string_view>

namespace ashlar::tune {

/// Is told of what, and a share from 0 to 1.
using progress = std::function<void(std::string_view, double)>;

}  // namespace ashlar::tune
