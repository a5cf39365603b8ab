// freestanding.hpp: all of ashlar that needs no operating system, heap, exceptions or RTTI.
// For users; the layers themselves include what they need.
// A freestanding program defines `ashlar_fault` (core/fault.hpp), `ashlar_report` if it uses
// at_death::report, and, where its compiler asks for them, memcpy and memset.
#pragma once

#include <ashlar/arena/arena.hpp>
#include <ashlar/arena/arena_scope.hpp>
#include <ashlar/arena/static_arena.hpp>
#include <ashlar/core/address.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/check_policy.hpp>
#include <ashlar/core/config.hpp>
#include <ashlar/core/counting.hpp>
#include <ashlar/core/exhaustion.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/memory_tools.hpp>
#include <ashlar/core/page_source.hpp>
#include <ashlar/core/policy.hpp>
#include <ashlar/core/recording.hpp>
#include <ashlar/core/sealable_source.hpp>
#include <ashlar/core/trace_recorder.hpp>
#include <ashlar/pool/fixed_pool.hpp>
#include <ashlar/pool/object_pool.hpp>
#include <ashlar/pool/placement_new.hpp>
#include <ashlar/pool/pool_map.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/refill_lists.hpp>
#include <ashlar/pool/static_pool.hpp>
#include <ashlar/pool/static_pool_ptr.hpp>
#include <ashlar/pool/static_run_pool.hpp>
