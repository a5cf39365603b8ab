// ashlar.cppm: all of <ashlar/ashlar.hpp> as a C++20 module: `import ashlar;`. Macros and the C API are in the headers alone.
// Made by scripts/module_names.py --write, which also compares it with the headers.
module;
#include <ashlar/ashlar.hpp>
export module ashlar;

export using ::operator new;  // placement_new.hpp: new (pool) T
export using ::operator delete;

export namespace ashlar {
using ashlar::align_down;
using ashlar::align_up;
using ashlar::align_up_checked;
using ashlar::allocate_shared;
using ashlar::allocate_unique;
using ashlar::allocation_result;
using ashlar::allocator;
using ashlar::allocator_deleter;
using ashlar::arena;
using ashlar::arena_allocator;
using ashlar::arena_scope;
using ashlar::basic_lockable;
using ashlar::block_event;
using ashlar::block_recorder;
using ashlar::call_name;
using ashlar::check_kind;
using ashlar::component_allocator;
using ashlar::cortex_m_primask;
using ashlar::counting_kind;
using ashlar::death_kind;
using ashlar::describe;
using ashlar::destroy_in;
using ashlar::divide_up;
using ashlar::exhaustion_kind;
using ashlar::exhaustion_policy;
using ashlar::exhaustion_request;
using ashlar::fault;
using ashlar::fault_kind;
using ashlar::fixed_pool;
using ashlar::fixed_string;
using ashlar::heap;
using ashlar::heap_allocated;
using ashlar::heap_blocks;
using ashlar::heap_options;
using ashlar::heap_pool;
using ashlar::interrupt_mask;
using ashlar::interrupt_port;
using ashlar::is_aligned;
using ashlar::is_power_of_two;
using ashlar::least_populated;
using ashlar::line_writer;
using ashlar::lock_free;
using ashlar::lock_kind;
using ashlar::make_static;
using ashlar::max_buckets;
using ashlar::max_of;
using ashlar::min_of;
using ashlar::name_kind;
using ashlar::name_of;
using ashlar::named;
using ashlar::no_lock;
using ashlar::node_alignment;
using ashlar::node_bytes;
using ashlar::node_size;
using ashlar::numbers_threads;
using ashlar::object_pool;
using ashlar::operator==;
using ashlar::page_source;
using ashlar::pick_policy;
using ashlar::pool_allocator;
using ashlar::pool_set;
using ashlar::pooled;
using ashlar::populating_source;
using ashlar::process_source;
using ashlar::ram_bytes;
using ashlar::recorded_pool;
using ashlar::recording_kind;
using ashlar::refill_lists;
using ashlar::refill_stats;
using ashlar::returns_by_address;
using ashlar::riscv_mstatus;
using ashlar::sealable_source;
using ashlar::shared_block;
using ashlar::source_kind;
using ashlar::spin_lock;
using ashlar::static_arena;
using ashlar::static_pool;
using ashlar::static_pool_deleter;
using ashlar::static_pool_for;
using ashlar::static_pool_ptr;
using ashlar::static_pool_set;
using ashlar::static_run_pool;
using ashlar::text_writer;
using ashlar::trace_limits;
using ashlar::trace_port;
using ashlar::trace_recorder;
using ashlar::unnamed;
}  // namespace ashlar

export namespace ashlar::at_death {
using ashlar::at_death::abandon;
using ashlar::at_death::destroy;
using ashlar::at_death::ignore;
using ashlar::at_death::report;
using ashlar::at_death::stop;
}  // namespace ashlar::at_death

export namespace ashlar::check {
using ashlar::check::cheap;
using ashlar::check::full;
using ashlar::check::none;
}  // namespace ashlar::check

export namespace ashlar::containers {
using ashlar::containers::basic_istringstream;
using ashlar::containers::basic_ostringstream;
using ashlar::containers::basic_string;
using ashlar::containers::basic_stringstream;
using ashlar::containers::deque;
using ashlar::containers::forward_list;
using ashlar::containers::istringstream;
using ashlar::containers::list;
using ashlar::containers::map;
using ashlar::containers::multimap;
using ashlar::containers::multiset;
using ashlar::containers::ostringstream;
using ashlar::containers::priority_queue;
using ashlar::containers::queue;
using ashlar::containers::set;
using ashlar::containers::stack;
using ashlar::containers::string;
using ashlar::containers::stringstream;
using ashlar::containers::u16string;
using ashlar::containers::u32string;
using ashlar::containers::u8string;
using ashlar::containers::unordered_map;
using ashlar::containers::unordered_multimap;
using ashlar::containers::unordered_multiset;
using ashlar::containers::unordered_set;
using ashlar::containers::vector;
using ashlar::containers::wstring;
}  // namespace ashlar::containers

export namespace ashlar::counting {
using ashlar::counting::exact;
using ashlar::counting::none;
}  // namespace ashlar::counting

export namespace ashlar::exhaustion {
using ashlar::exhaustion::counted;
using ashlar::exhaustion::handler_and_retry;
using ashlar::exhaustion::handler_once;
using ashlar::exhaustion::next_larger;
using ashlar::exhaustion::null;
using ashlar::exhaustion::own_handler;
using ashlar::exhaustion::std_new_handler;
using ashlar::exhaustion::stop;
using ashlar::exhaustion::throw_bad_alloc;
using ashlar::exhaustion::upstream;
}  // namespace ashlar::exhaustion

export namespace ashlar::os {
using ashlar::os::mutex;
using ashlar::os::page_source;
}  // namespace ashlar::os

export namespace ashlar::pmr {
using ashlar::pmr::basic_string;
using ashlar::pmr::deque;
using ashlar::pmr::forward_list;
using ashlar::pmr::list;
using ashlar::pmr::map;
using ashlar::pmr::multimap;
using ashlar::pmr::multiset;
using ashlar::pmr::polymorphic_allocator;
using ashlar::pmr::process_resource;
using ashlar::pmr::set;
using ashlar::pmr::string;
using ashlar::pmr::u16string;
using ashlar::pmr::u32string;
using ashlar::pmr::u8string;
using ashlar::pmr::unordered_map;
using ashlar::pmr::unordered_multimap;
using ashlar::pmr::unordered_multiset;
using ashlar::pmr::unordered_set;
using ashlar::pmr::vector;
using ashlar::pmr::wstring;
}  // namespace ashlar::pmr

export namespace ashlar::recording {
using ashlar::recording::none;
using ashlar::recording::to;
}  // namespace ashlar::recording
