// ashlar.hpp: all of ashlar for a hosted C++ program. For users; the layers themselves include what
// they need. ashlar.h is for C, freestanding.hpp for programs without an operating system; each
// header that is named here can be included by itself.
#pragma once

#include <ashlar/adapt/allocator.hpp>
#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/class_new.hpp>
#include <ashlar/adapt/component_allocator.hpp>
#include <ashlar/adapt/containers.hpp>
#include <ashlar/adapt/node_size.hpp>
#include <ashlar/adapt/pmr.hpp>
#include <ashlar/adapt/process_source.hpp>
#include <ashlar/adapt/smart_pointers.hpp>
#include <ashlar/adapt/static_pool_for.hpp>
#include <ashlar/freestanding.hpp>
#include <ashlar/instance/heap.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/page_source.hpp>
