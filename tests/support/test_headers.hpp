// support/test_headers.hpp: what most tests include, precompiled. Every test includes what it uses all the same: this
// changes the time to compile it, and nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>
