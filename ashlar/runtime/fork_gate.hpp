// runtime/fork_gate.hpp: keeps the other threads out of a heap while one thread forks.
// Layer: runtime.
//
//   a thread:   enter --> inside: it may take the heap's locks --> leave
//   a fork:     close --> the others have left --> the system copies the process --> open
//
// A thread that finds the gate closed does not wait for the fork: it goes elsewhere
// (reserve_heap.hpp). So the fork may wait for any other lock before it copies the process. The C
// library waits for its streams then, whose holders may need the heap.
//
// Law: while the gate is closed and quiet, no thread but its owner is inside. A signal handler may
// interrupt a thread anywhere here, and use the gate itself: it leaves every count as it found it.
// Inside itself a thread waits for the heap's locks and for the system only, so a close ends soon.
// If a thread does not come out (it reports a misuse, or it waits for a lock that the forking
// thread held when a signal handler interrupted it), the fork goes on without it, and the child's
// heap is *lost*: the gate stays closed there for good. So it is where such a handler's fork finds
// that another one does not come to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <ashlar/core/linked_list.hpp>
#include <ashlar/core/lock_order.hpp>
#include <ashlar/os/mutex.hpp>
#include <ashlar/os/single_thread.hpp>

namespace ashlar::runtime {

class fork_gate {
 public:
  /// Where a thread that the gate knows announces its calls. It is no part of the thread's own
  /// memory: a thread may end without a call of `quit`, and its place stays, with nothing
  /// announced.
  struct place {
    std::atomic<std::uint16_t> announced{0};  ///< calls that are inside, or about to know whether
    bool listed = false;
    place* next = nullptr;
    place* previous = nullptr;
  };
  /// What a thread has for the gate. Nobody else reads it.
  struct pass {
    place* own = nullptr;         ///< where the gate knows it; null: it is a stranger
    std::uint16_t strangers = 0;  ///< of the gate's strangers: calls from before it had a place
    std::uint16_t depth = 0;      ///< how often it is inside
    /// The depth at which it may come in. Deeper, a signal handler has interrupted one of its
    /// calls, which may have locks: the handler's own calls stay outside.
    std::uint16_t open_depth = 0;
  };

  constexpr fork_gate() noexcept = default;
  fork_gate(const fork_gate&) = delete;
  fork_gate& operator=(const fork_gate&) = delete;

  /// Returns: whether the calling thread is inside now, and has to leave. It is not where another
  /// thread forks, and in a signal handler that interrupted it inside. Never waits.
  [[nodiscard]] bool enter(pass& own) noexcept {
    // Either the thread that closes the gate sees this, or this thread sees that it is closed.
    announce(own);
    if (own.depth != own.open_depth || !is_open_to(own)) [[unlikely]] {
      withdraw(own);
      return false;
    }
    ++own.depth;
    return true;
  }
  /// Requires: enter returned true.
  void leave(pass& own) noexcept {
    --own.depth;
    withdraw(own);
  }
  /// While it lives, the thread calls others from inside, without a lock, and they may come in.
  class calls_out {
   public:
    explicit calls_out(pass& own) noexcept
        : own_(own), before_(std::exchange(own.open_depth, own.depth)) {}
    ~calls_out() { own_.open_depth = before_; }
    calls_out(const calls_out&) = delete;
    calls_out& operator=(const calls_out&) = delete;

   private:
    pass& own_;
    std::uint16_t before_;
  };

  /// Effects: the gate knows the thread at `at` from now on, which costs less than being a
  /// stranger. Requires: the thread is inside; `at` is new, or was that of a thread which has
  /// ended.
  void join(pass& own, place& at) noexcept {
    if (!at.listed) {
      places_mutex_.lock();
      detail::link_first(places_, at);
      places_mutex_.unlock();
      at.listed = true;
    }
    own.own = &at;
  }
  /// Effects: the thread is a stranger, and its place can go. Requires: it is not inside.
  void quit(pass& own) noexcept {
    place* const at = std::exchange(own.own, nullptr);  // first: a signal handler may come in
    if (at == nullptr) return;
    places_mutex_.lock();
    detail::unlink_from(places_, *at);
    places_mutex_.unlock();
    at->listed = false;
  }

  /// For a thread that looks at what the heap knows of a block in use, though it may find the gate
  /// closed. It may take locks, and changes nothing. Returns: whether it is inside.
  [[nodiscard]] bool begin_look(pass& own) noexcept {
    if (enter(own)) return true;
    lookers_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  /// Requires: `inside` is what begin_look returned.
  void end_look(pass& own, bool inside) noexcept {
    if (inside)
      leave(own);
    else
      lookers_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Effects: the calling thread owns the gate, which is closed for the others, and all of these
  /// have left. A thread that owns it already, since a signal handler interrupted its fork, owns it
  /// once more. `wait(round)` pauses for a moment; it returns false where that has taken too long,
  /// and then the close goes on though a thread is still inside. A thread that `may_hold_locks`,
  /// since a signal handler interrupted its call, goes on without the gate where another owns it so
  /// long: the owner may wait for such a lock.
  template <class Wait>
  void close(pass& own, Wait wait, bool may_hold_locks = false) noexcept {
    pass* owner = nullptr;
    for (unsigned round = 0; !owner_.compare_exchange_strong(owner, &own); owner = nullptr) {
      if (owner == &nobody_) return;
      if (owner == &own) {
        ++closed_again_;
        break;
      }
      if (!wait(round++) && may_hold_locks) return;  // it forks: else that ends
    }
    for (unsigned round = 0; !quiet_; ++round) {
      quiet_ = others_are_out(own);
      if (!quiet_ && !wait(round)) return;
    }
  }
  /// Effects: undoes one close of the calling thread; nothing where that did not get the gate. What
  /// the owner did in the heap meanwhile is known to who comes in.
  void open(const pass& own) noexcept {
    if (owner_.load(std::memory_order_relaxed) != &own) return;
    if (closed_again_ != 0) {
      --closed_again_;
      return;
    }
    quiet_ = false;
    owner_.store(nullptr, std::memory_order_release);
  }

  /// Effects: as `open`, for the child of a fork, which has the calling thread alone. Returns:
  /// whether the heap is whole. If it is not, a thread that does not exist here was in the middle
  /// of changing it, and the gate stays closed for good.
  bool open_in_child(pass& own) noexcept {
    const bool was_inside = own.depth != 0;
    const bool is_owner = owner_.load(std::memory_order_relaxed) == &own;
    const bool whole =
        is_owner && quiet_ && !(was_inside && lookers_.load(std::memory_order_relaxed) != 0);
    places_ = own.own;
    if (places_ != nullptr) places_->next = places_->previous = nullptr;
    strangers_.store(own.strangers, std::memory_order_relaxed);
    lookers_.store(0, std::memory_order_relaxed);
    places_mutex_.unlock();
    if (whole)
      open(own);
    else
      owner_.store(&nobody_, std::memory_order_relaxed);
    return whole;
  }

  /// Returns: whether the gate is closed for good.
  [[nodiscard]] bool is_lost() const noexcept {
    return owner_.load(std::memory_order_relaxed) == &nobody_;
  }

 private:
  [[nodiscard]] bool is_open_to(const pass& own) const noexcept {
    const pass* const owner = owner_.load(std::memory_order_seq_cst);
    return owner == nullptr || owner == &own;
  }

  static void set_announced(place& at, int n, std::memory_order order) noexcept {
    at.announced.store(static_cast<std::uint16_t>(n), order);
  }
  void announce(pass& own) noexcept {
    if (own.own == nullptr) {
      strangers_.fetch_add(1, std::memory_order_seq_cst);
      ++own.strangers;
      return;
    }
    set_announced(*own.own, own.own->announced.load(std::memory_order_relaxed) + 1,
                  os::is_single_threaded() ? std::memory_order_relaxed : std::memory_order_seq_cst);
  }
  /// The last call that came in goes out first: those from before the thread had a place are the
  /// last.
  void withdraw(pass& own) noexcept {
    const int announced =
        own.own != nullptr ? own.own->announced.load(std::memory_order_relaxed) : 0;
    if (announced != 0) return set_announced(*own.own, announced - 1, std::memory_order_release);
    --own.strangers;
    strangers_.fetch_sub(1, std::memory_order_release);
  }

  [[nodiscard]] bool others_are_out(const pass& own) noexcept {
    if (os::is_single_threaded()) return true;
    if (strangers_.load(std::memory_order_seq_cst) != own.strangers) return false;
    // The interrupted call of this very thread may hold the lock.
    if (!places_mutex_.try_lock()) return false;
    const place* p = places_;
    while (p != nullptr && (p == own.own || p->announced.load(std::memory_order_seq_cst) == 0))
      p = p->next;
    places_mutex_.unlock();
    return p == nullptr;
  }

  std::atomic<pass*> owner_{nullptr};
  std::atomic<unsigned> strangers_{0};
  std::atomic<unsigned> lookers_{0};
  unsigned closed_again_ = 0;  ///< the owner's
  bool quiet_ = false;         ///< the owner's: the others have left since the gate was closed
  detail::ranked<os::mutex, detail::lock_rank::gate_passes>::type places_mutex_;
  place* places_ = nullptr;
  pass nobody_;  ///< the owner of a gate that is closed for good
};

}  // namespace ashlar::runtime
