// runtime/process_engine.hpp: the engine of the process heap, and of its reserve.
// Layer: runtime.
#pragma once

#include <ashlar/heap/basic_heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/runtime/process_classes.hpp>

namespace ashlar::runtime {

struct process_config {
  using space = os::system_space;
  using mutex = os::mutex;
  using classes = process_classes;
};
using process_heap = basic_heap<process_config>;

}  // namespace ashlar::runtime
