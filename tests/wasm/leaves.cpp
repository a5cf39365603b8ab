// The check bites: an image that sees a fault ends with a status, and Node.js passes it on.
#include "platform.hpp"

extern "C" int image_main() { platform::leave(42); }
