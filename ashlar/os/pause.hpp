// os/pause.hpp: a short wait. One file per system implements it.
// Layer: os. Includes: nothing of ashlar.
#pragma once

namespace ashlar::os {

/// Effects: the calling thread leaves its processor to others for some 50 microseconds, threads of lower
/// priority included. Keeps errno; no thread is cancelled here.
void pause_briefly() noexcept;

}  // namespace ashlar::os
