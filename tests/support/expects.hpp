// support/expects.hpp: the failure policy of live blocks (live_blocks.hpp) in a GoogleTest program.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace support {

struct expects {
  void operator()(const std::string& what) const { ADD_FAILURE() << what; }
};

}  // namespace support
