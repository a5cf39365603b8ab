// os/pause.hpp: a short wait. One file per system implements it.
// Layer: os.
#pragma once

namespace ashlar::os {

/// Effects: the calling thread leaves its processor to others for about so long, threads of lower
/// priority included. Keeps errno; no cancellation point. Requires: less than a second.
void pause_us(unsigned microseconds) noexcept;

}  // namespace ashlar::os
