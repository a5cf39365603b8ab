// core/trace_recorder.hpp: what pools do, as a trace that `ashlar report`, `tune` and `replay`
// read.
// Layer: core (freestanding). No heap, no library: a frame of the trace is put together in the
// recorder, and handed to the port whole.
//
//   struct uart {  // what the recorder asks of the board: trace_port
//     static constexpr std::uint32_t ticks_per_second = 1000;
//     static std::uint32_t now() noexcept;
//     static bool write(const std::byte* bytes, std::size_t count) noexcept;
//   };
//   constinit ashlar::trace_recorder<uart> recorder;
//   constinit ashlar::static_pool<message, 16, ashlar::recording::to<recorder>,
//                                 ashlar::named<"messages">> messages;
//   recorder.begin("firmware"); ...; recorder.end();
//
// Law: events in the trace + lost() == what happened. An event is in the trace, in its order, or
// counted: the next frame of its thread that the port takes begins with how many are missing there.
// Nothing waits.
// Law: the trace has all threads' events in the order in which the recorder heard of them: where
// one follows another thread's at one time, its time is a tick more. With several threads a clock's
// tick is cut into ticks of a microsecond at most, so that a clock of milliseconds is not carried
// away by that. A recorder that was never used is all zero bits if its port is: a static one is in
// .bss, usable before main.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ashlar/core/config.hpp>
#include <ashlar/core/lock_policy.hpp>
#include <ashlar/core/recording.hpp>
#include <ashlar/core/trace_format.hpp>
#include <ashlar/core/trace_frame.hpp>

namespace ashlar {

/// Where a trace goes, and whose clock it has. Called under the recorder's lock; must not use a
/// pool that is recorded.
///   P::ticks_per_second       of now(); a constant
///   port.now()                a counter that wraps where its type does. It is looked at with each
///                             event, and must not pass a whole turn between two.
///   port.write(bytes, count)  takes all the bytes (true) or none (false), and does not wait. One
///                             that took a part is to refuse from then on: the trace ends there,
///                             and all before is read.
template <class P>
concept trace_port = requires(P& port, const std::byte* bytes, std::size_t count) {
  { P::ticks_per_second } -> std::convertible_to<std::uint64_t>;
  { port.now() } noexcept -> std::unsigned_integral;
  { port.write(bytes, count) } noexcept -> std::same_as<bool>;
};
/// A port may also say who allocates: port.thread() is the number of the running task, 1, 2, ... up
/// to trace_limits::threads; an interrupt handler may be one of them. Without it all is one
/// thread's.
template <class P>
concept numbers_threads = requires(P& port) {
  { port.thread() } noexcept -> std::unsigned_integral;
};

/// What a recorder has room for.
struct trace_limits {
  std::size_t frame_bytes = 1024;  ///< of each thread's frame, 256 at least; 6 to 10 bytes an event
  std::size_t threads = 1;
  std::size_t pools = 8;  ///< that are told apart; the events of others are recorded without a pool
};

namespace detail {

inline constexpr std::size_t recorded_name_bytes_max = 47;  // of a pool and of a program
// Constants, since a literal that becomes a string_view when the program runs may ask it for
// strlen.
inline constexpr std::string_view a_program = "firmware";
inline constexpr std::string_view a_pool = "pool";

[[nodiscard]] constexpr std::string_view recorded_name(const char* name,
                                                       std::string_view otherwise) noexcept {
  if (name == nullptr) return otherwise;
  std::size_t size = 0;
  while (size < recorded_name_bytes_max && name[size] != '\0') ++size;
  return {name, size};
}

/// The decimal digits of a number.
struct decimal_text {
  char digits[20] = {};
  std::size_t size = 0;

  explicit constexpr decimal_text(std::uint64_t number) noexcept {
    std::uint64_t scale = 1;
    while (number / scale >= 10) scale *= 10;
    for (; scale != 0; scale /= 10)
      digits[size++] = static_cast<char>('0' + static_cast<char>(number / scale % 10));
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return {digits, size}; }
};

/// A trace's header up to the program's name.
struct recorded_header {
  std::byte bytes[160] = {};
  std::size_t size = 0;

  explicit constexpr recorded_header(std::uint64_t ticks_per_second) noexcept {
    std::byte* at = bytes;
    put_string(at, trace::header_name::ashlar);
    const decimal_text version[] = {decimal_text(ASHLAR_VERSION_MAJOR),
                                    decimal_text(ASHLAR_VERSION_MINOR),
                                    decimal_text(ASHLAR_VERSION_PATCH)};
    put_varint(at, version[0].size + version[1].size + version[2].size + 2);
    put_text(at, version[0].text());
    put_text(at, ".");
    put_text(at, version[1].text());
    put_text(at, ".");
    put_text(at, version[2].text());
    put_string(at, trace::header_name::word_bytes);
    put_string(at, decimal_text(sizeof(void*)).text());
    put_string(at, trace::header_name::ticks_per_second);
    put_string(at, decimal_text(ticks_per_second).text());
    put_string(at, trace::header_name::options);
    put_string(at, trace::options_of_pools);
    put_string(at, trace::header_name::program);
    size = static_cast<std::size_t>(at - bytes);
  }
};

}  // namespace detail

/// Writes the trace of the components that have `recording::to<this object>`. `Lock` is for all who
/// call one of them: interrupt_mask where interrupt handlers do (what port.write() takes is then a
/// masked stretch), std::mutex for threads. Thread-safety: as Lock says, for all functions. Throws:
/// nothing.
template <trace_port Port, class Lock = no_lock, trace_limits Limits = trace_limits{}>
class trace_recorder {
  static_assert(basic_lockable<Lock>, "a recorder needs a lock: lock_free is none");
  static_assert(Limits.threads > 0 && Limits.threads < UINT32_MAX && Limits.pools < UINT32_MAX);
  static_assert(numbers_threads<Port> || Limits.threads == 1,
                "who records several threads needs a port that numbers them: port.thread()");

 public:
  constexpr trace_recorder() noexcept = default;
  explicit constexpr trace_recorder(Port port) noexcept : port_(std::move(port)) {}
  trace_recorder(const trace_recorder&) = delete;
  trace_recorder& operator=(const trace_recorder&) = delete;

  /// Effects: writes the head of the trace, which says that `program` (of up to 47 bytes) was
  /// recorded. Events before it are lost, and told so. Returns: whether the port took it; if not,
  /// it may be tried again. A recorder writes one trace: false where it was begun.
  [[nodiscard]] bool begin(const char* program) noexcept {
    detail::scoped_lock guard(lock_);
    if (state_ != state::before) return false;
    static constexpr detail::recorded_header pairs(std::uint64_t{Port::ticks_per_second}
                                                   << tick_shift);
    const std::string_view name = detail::recorded_name(program, detail::a_program);
    std::byte bytes[trace::preamble_bytes + sizeof pairs.bytes + 1 +
                    detail::recorded_name_bytes_max + sizeof(std::uint32_t)];
    std::byte* at = bytes;
    detail::put_text(at, trace::magic);
    detail::put_fixed(at, trace::version);
    detail::put_fixed(at, static_cast<std::uint32_t>(pairs.size + 1 + name.size()));
    for (std::size_t i = 0; i < pairs.size; ++i) *at++ = pairs.bytes[i];
    detail::put_string(at, name);
    detail::put_fixed(at, detail::checksum(bytes, static_cast<std::size_t>(at - bytes)));
    if (!port_.write(bytes, static_cast<std::size_t>(at - bytes))) return false;
    counter_ = port_.now();
    state_ = state::recording;
    return true;
  }

  /// Effects: what was recorded is handed to the port; at quiet moments, lest a frame is full at a
  /// busy one. Returns: whether the port took it all.
  bool flush() noexcept {
    detail::scoped_lock guard(lock_);
    return state_ == state::recording && write_all();
  }

  /// Effects: as flush, then the end of the trace; what happens afterwards is lost, and counted.
  /// Returns: whether the port took it all; a trace without its end is read, with a warning.
  bool end() noexcept {
    detail::scoped_lock guard(lock_);
    if (state_ != state::recording) return false;
    const bool is_whole = write_all();
    state_ = state::after;
    std::byte bytes[trace::frame_header_bytes + detail::varint_bytes_max<std::uint64_t>];
    std::byte* const payload = bytes + trace::frame_header_bytes;
    std::byte* at = payload;
    detail::put_varint(at, events_);
    const auto payload_bytes = static_cast<std::size_t>(at - payload);
    const std::size_t count = detail::put_head(bytes, payload_bytes, {trace::frame_kind::end});
    return port_.write(bytes, count) && is_whole;
  }

  /// Effects: a text, with its time, that the trace keeps; of a long one the beginning.
  [[gnu::noinline]] void mark(std::string_view text) noexcept {
    detail::scoped_lock guard(lock_);
    record([&](thread_events& by, std::uint64_t time) {
      return by.frame.put_other(time, trace::event_kind::mark, 0, text);
    });
  }

  /// Returns: how many events are not in the trace. Those that wait in a frame are not counted.
  [[nodiscard]] std::uint32_t lost() const noexcept {
    detail::scoped_lock guard(lock_);
    return lost_;
  }
  [[nodiscard]] Port& port() noexcept { return port_; }

  // ---- what components tell. Complexity: O(pools), and where a frame is full O(its bytes) and por

  [[gnu::noinline]] void allocated(const recorded_pool& pool, const void* p, std::size_t size,
                                   std::size_t alignment) noexcept {
    detail::scoped_lock guard(lock_);
    const std::uint32_t number = number_of(pool);
    record([&](thread_events& by, std::uint64_t time) {
      return by.frame.put_birth(time, reinterpret_cast<std::uintptr_t>(p), size, alignment, number);
    });
  }
  [[gnu::noinline]] void freed(const recorded_pool&, const void* p) noexcept {
    detail::scoped_lock guard(lock_);
    record([&](thread_events& by, std::uint64_t time) {
      return by.frame.put_death(time, reinterpret_cast<std::uintptr_t>(p));
    });
  }
  [[gnu::noinline]] void refused(const recorded_pool& pool, std::size_t size,
                                 std::size_t) noexcept {
    detail::scoped_lock guard(lock_);
    record([&](thread_events& by, std::uint64_t time) {
      return by.frame.put_other(time, trace::event_kind::refused, size,
                                detail::recorded_name(pool.name, {}));
    });
  }

 private:
  using counter = std::remove_cvref_t<decltype(std::declval<Port&>().now())>;
  /// A tick of the trace is one of the clock's divided by 2 to that power.
  static constexpr unsigned tick_shift =
      Limits.threads == 1
          ? 0
          : static_cast<unsigned>(std::bit_width(999'999 / std::uint64_t{Port::ticks_per_second}));
  enum class state : std::uint8_t { before, recording, after };
  static constexpr std::size_t column_head_bytes = 2;  ///< a length below 128, and a zero

  /// Of one thread: the frame that is being put together. `missing` events are lost and not yet
  /// told; `told` is what the frame itself tells, in an event at its beginning.
  struct thread_events {
    detail::trace_frame<Limits.frame_bytes> frame;
    std::uint32_t missing = 0;
    std::uint32_t told = 0;
  };

  [[nodiscard]] std::size_t thread_index() noexcept {
    if constexpr (numbers_threads<Port> && Limits.threads > 1) {
      const std::size_t number = static_cast<std::size_t>(port_.thread());
      return number == 0 || number > Limits.threads ? Limits.threads - 1 : number - 1;
    } else {
      return 0;
    }
  }

  /// Effects: time_ is that of an event of the thread now, and of no other thread's event before.
  void set_time([[maybe_unused]] std::size_t thread) noexcept {
    const counter now = port_.now();
    clock_ += static_cast<counter>(now - counter_);
    counter_ = now;
    if constexpr (Limits.threads > 1) {
      if (thread != last_thread_) ++time_;
      last_thread_ = thread;
    }
    const std::uint64_t time = clock_ << tick_shift;
    if (time_ < time) time_ = time;
  }

  void lose(thread_events& by, std::uint32_t count) noexcept {
    by.missing += count;
    lost_ += count;
  }

  /// Effects: put(thread, time), and once more with an empty frame where the first one has no room.
  template <class Put>
  ASHLAR_HOT void record(Put put) noexcept {
    thread_events* const by = begin_event();
    if (by == nullptr) [[unlikely]]
      return;
    if (put(*by, time_)) [[likely]]
      return;
    write_full(*by);
    static_cast<void>(
        put(*by, time_));  // an empty frame has room for what is missing and any event
  }
  /// Returns: whose event it is; its time is time_. Null where nothing is recorded: it is lost.
  [[gnu::noinline]] thread_events* begin_event() noexcept {
    const std::size_t thread = thread_index();
    thread_events& by = threads_[thread];
    if (state_ != state::recording) {
      lose(by, 1);
      return nullptr;
    }
    set_time(thread);
    if (by.missing != 0) [[unlikely]]
      tell_missing(by);
    return &by;
  }
  ASHLAR_COLD void write_full(thread_events& by) noexcept {
    write_frame(by);
    if (by.missing != 0) tell_missing(by);
  }

  /// Effects: the frame begins with what is missing before it. Requires: `missing` is not 0, so
  /// that events were lost since the last frame and this one is empty.
  ASHLAR_COLD void tell_missing(thread_events& by) noexcept {
    if (by.frame.put_other(time_, trace::event_kind::lost, by.missing))
      by.told = std::exchange(by.missing, 0);
  }

  /// Effects: hands the thread's frame to the port; a frame that it refuses is lost. Returns:
  /// whether there was nothing to hand over, or it was taken.
  [[gnu::noinline]] bool write_frame(thread_events& by) noexcept {
    const std::uint32_t count = by.frame.count();
    if (count == 0) return true;
    const auto bytes = by.frame.finish(static_cast<std::uint32_t>(&by - threads_ + 1));
    const std::uint32_t told = std::exchange(by.told, 0);
    if (port_.write(bytes.data(), bytes.size())) {
      events_ += count;
      define_pools();
      return true;
    }
    by.missing += told;  // they are in lost_ already
    lose(by, count - (told != 0 ? 1u : 0u));
    return false;
  }

  [[nodiscard]] bool write_all() noexcept {
    bool is_whole = true;
    for (std::size_t thread = 0; thread < Limits.threads; ++thread) {
      if (threads_[thread].missing != 0) {
        set_time(thread);
        tell_missing(threads_[thread]);
      }
      is_whole = write_frame(threads_[thread]) && is_whole;
    }
    define_pools();
    return is_whole && defined_ == pool_count_;
  }

  // ---- pools: in the trace, a pool is the stack of one frame that led to its blocks, and a module

  /// Returns: a number from 1 on; 0 where there are too many.
  [[nodiscard]] std::uint32_t number_of(const recorded_pool& pool) noexcept {
    for (std::uint32_t i = 0; i < pool_count_; ++i) {
      if (pools_[i].id == pool.id && pools_[i].name == pool.name) return i + 1;
    }
    if (pool_count_ == Limits.pools) return 0;
    pools_[pool_count_] = pool;
    return ++pool_count_;
  }

  /// Effects: the pools that the trace does not know yet are defined there; what the port refuses
  /// is tried again after the next frame.
  void define_pools() noexcept {
    while (defined_ < pool_count_ && write_definition(defined_)) ++defined_;
  }

  [[nodiscard]] ASHLAR_COLD bool write_definition(std::uint32_t index) noexcept {
    using trace::frame_header_bytes;
    constexpr std::size_t address_bytes_max = detail::varint_bytes_max<std::uintptr_t>;
    constexpr std::size_t stack_bytes_max =
        detail::varint_bytes_max<std::uint32_t> + 1 + detail::varint_bytes_max<std::uint64_t>;
    constexpr std::size_t module_bytes_max =
        3 * address_bytes_max + 1 + detail::recorded_name_bytes_max;
    static_assert(stack_bytes_max < 128 && module_bytes_max < 128, "a column's length is one byte");

    // A module holds the byte before a frame's address too, since a frame is where a call returns
    // to.
    const auto id = reinterpret_cast<std::uintptr_t>(pools_[index].id);
    constexpr std::size_t column_at = frame_header_bytes + column_head_bytes;
    std::byte bytes[2 * column_at + stack_bytes_max + module_bytes_max];
    std::byte* at = bytes + column_at;
    detail::put_varint(at, index + 1);
    detail::put_varint(at, 1u);
    detail::put_varint(at, std::uint64_t{id} << 1);  // as a difference to 0
    const auto stack_bytes = static_cast<std::size_t>(at - (bytes + column_at));
    put_definition(bytes, stack_bytes, trace::frame_kind::stacks);

    std::byte* const module_frame = at;
    at += column_at;
    detail::put_varint(at, id - 1);
    detail::put_varint(at, id + 1);
    detail::put_varint(at, id);
    detail::put_string(at, detail::recorded_name(pools_[index].name, detail::a_pool));
    const auto module_bytes = static_cast<std::size_t>(at - (module_frame + column_at));
    put_definition(module_frame, module_bytes, trace::frame_kind::modules);
    return port_.write(bytes, static_cast<std::size_t>(at - bytes));
  }
  /// Effects: the bytes of a definition, which stand where its column begins, become a frame.
  static void put_definition(std::byte* frame, std::size_t bytes, trace::frame_kind kind) noexcept {
    std::byte* const column_head = frame + trace::frame_header_bytes;
    column_head[0] = std::byte{static_cast<std::uint8_t>(bytes)};
    column_head[1] = std::byte{0};  // it is not compressed
    detail::put_head(frame, column_head_bytes + bytes, {kind, 0, 1});
  }

  // What each event needs first: the frames may be larger than the reach of a short load.
  state state_ = state::before;
  counter counter_ = 0;
  std::uint64_t clock_ = 0;  ///< the port's ticks since begin()
  std::uint64_t time_ = 0;   ///< of the last event, in the trace's ticks
  std::size_t last_thread_ = 0;
  std::uint64_t events_ = 0;  ///< in the trace
  std::uint32_t lost_ = 0;
  std::uint32_t pool_count_ = 0;
  std::uint32_t defined_ = 0;  ///< of them the first so many are defined in the trace
  [[no_unique_address]] mutable Lock lock_;
  [[no_unique_address]] Port port_{};
  recorded_pool pools_[Limits.pools == 0 ? 1 : Limits.pools] = {};
  thread_events threads_[Limits.threads];
};

}  // namespace ashlar
