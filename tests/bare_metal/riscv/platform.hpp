// The images that ask for "platform.hpp" get the boards' one: it is for each processor.
#pragma once

#include "board/platform.hpp"
