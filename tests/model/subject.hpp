// model/subject.hpp: a component that is worked on, and the blocks of it that each thread holds.
// A subject_of<Face> needs of its face:
//   slots, most_bytes      how much a thread holds at most
//   reallocates            whether it is asked to, and then
//   may_refuse             whether that may be refused
//   choose(draw&, style)   a request
//   allocate(request, draw&) -> block     address null: refused; usable and origin are filled in
//   reallocate(block, size) -> block
//   deallocate(block, draw&)
//   look(block)            what can be asked of a block in use
//   refusal(request, totals)   whether a refusal is right
//   rarely(draw)           what is neither
//   audit(totals, subject) Requires: nobody uses the component
//   frees_all_at_end       whether blocks may be in use when the face ends
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <tests/model/model.hpp>
#include <tests/model/sequence.hpp>
#include <utility>

// The blocks that one thread holds of one component, as it must find them again.
// Law: a block's pattern is a function of its key, and no two blocks have one key.
namespace model {

inline std::byte* bytes_of(const block& b) { return static_cast<std::byte*>(b.address); }

/// Where a block carries its pattern: in lines of 64 bytes, each with a key of its own. All of most blocks; of one
/// that is large sixteen lines and its last bytes, or filling it would be all that a run does.
class lines {
 public:
  explicit lines(const block& b) : usable_(b.usable), key_(b.key) {
    const bool whole = usable_ <= 2048 || (usable_ <= 128 * 1024 && key_ % 32 == 0);
    if (whole) {
      count_ = (usable_ + line - 1) / line;
    } else {
      step_ = usable_ / 16 / line * line;
      count_ = (usable_ - 2 * line) / step_ + 2;
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t offset(std::size_t i) const {
    return step_ != line && i + 1 == count_ ? usable_ - line : i * step_;
  }
  [[nodiscard]] std::size_t bytes(std::size_t i) const {
    return std::min(line, usable_ - offset(i));
  }
  [[nodiscard]] std::uint64_t key(std::size_t i) const { return key_ + i; }

 private:
  static constexpr std::size_t line = 64;
  std::size_t usable_;
  std::uint64_t key_;
  std::size_t step_ = line;
  std::size_t count_ = 0;
};

inline void fill(const block& b) {
  const lines all(b);
  for (std::size_t i = 0; i < all.count(); ++i)
    support::fill_pattern(bytes_of(b) + all.offset(i), all.key(i), all.bytes(i));
}

/// Requires that line `i` of the block's first `kept` bytes, now at `where`, is as its owner left it.
inline void verify_line(const block& b, const lines& all, std::size_t i, const void* where,
                        std::size_t kept) {
  const std::size_t at = all.offset(i);
  if (at >= kept) return;
  const std::size_t bytes = std::min(all.bytes(i), kept - at);
  const std::size_t damage =
      support::find_damage(static_cast<const std::byte*>(where) + at, all.key(i), bytes);
  require(damage == bytes, [&] {
    return "byte " + std::to_string(at + damage) + " is not what its owner wrote: " + describe(b);
  });
}
inline void verify(const block& b, const void* where, std::size_t kept) {
  const lines all(b);
  for (std::size_t i = 0; i < all.count(); ++i) verify_line(b, all, i, where, kept);
}
inline void verify(const block& b) { verify(b, b.address, b.usable); }
/// The same for one of its lines.
inline void verify_stripe(const block& b, std::size_t which) {
  const lines all(b);
  if (all.count() != 0) verify_line(b, all, which % all.count(), b.address, b.usable);
}

/// What a component's statistics have to say.
struct totals {
  std::uint64_t blocks = 0, bytes = 0;       ///< in use
  std::uint64_t allocations = 0, frees = 0;  ///< ever

  totals& operator+=(const totals& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    allocations += other.allocations;
    frees += other.frees;
    return *this;
  }
};

class ledger {
 public:
  explicit ledger(std::size_t slots) : slots_(slots) {}

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] block& operator[](std::size_t i) { return slots_[i]; }
  [[nodiscard]] const std::vector<block>& slots() const { return slots_; }
  [[nodiscard]] const totals& counts() const { return counts_; }

  /// Effects: `slot` holds a fresh block, which is looked at and filled.
  void add(block& slot, const block& b) {
    require(b.usable >= b.size, [&b] { return "smaller than asked for: " + describe(b); });
    require(reinterpret_cast<std::uintptr_t>(b.address) % b.alignment == 0,
            [&b] { return "misaligned: " + describe(b); });
    fill(b);
    slot = b;
    ++counts_.blocks;
    ++counts_.allocations;
    counts_.bytes += b.usable;
  }
  /// Effects: `slot` is empty. Returns: what it held.
  block take(block& slot) {
    const block b = slot;
    slot = {};
    --counts_.blocks;
    ++counts_.frees;
    counts_.bytes -= b.usable;
    return b;
  }
  /// Effects: all is forgotten: a component that frees what is in use has ended.
  void clear() {
    std::fill(slots_.begin(), slots_.end(), block{});
    counts_ = {};
  }
  void verify_all() const {
    for (const block& b : slots_)
      if (b.address != nullptr) verify(b);
  }

 private:
  std::vector<block> slots_;
  totals counts_;
};

}  // namespace model

namespace model {

struct range {
  std::uintptr_t begin, end;
  const char* subject;
};

class subject {
 public:
  explicit subject(const char* name) : name_(name) {}
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  /// Effects: `count` operations of thread `who`.
  virtual void run(std::size_t who, sequence& operations, std::uint64_t count) = 0;
  /// Effects: requires that all of `who`'s blocks are as they were left.
  virtual void verify(std::size_t who) const = 0;
  /// Effects: everything is checked. Requires: nobody uses the subject.
  virtual void audit() = 0;
  virtual void add_ranges(std::vector<range>& all) const = 0;
  /// Effects: no blocks are in use any more. Requires: nobody uses the subject.
  virtual void end() = 0;
  /// Effects: nobody hands blocks over until open_mail, so that a child of fork can.
  virtual void close_mail() {}
  virtual void open_mail() {}

  [[nodiscard]] const char* name() const { return name_; }

 private:
  const char* name_;
};

/// What can be chosen among: how often (of the sum of all), and for all threads together or each its own.
struct kind {
  const char* name;
  unsigned weight;
  bool shared;
  bool survives_fork;  ///< it may be used in a child, whatever other threads were doing to it
  std::function<std::unique_ptr<subject>(const char* name, std::size_t threads, draw choices)> make;
};

/// A thread holds no more blocks than that in any component: a short program then frees what it allocated.
inline std::size_t slots_max = SIZE_MAX;

struct request {
  std::size_t size, alignment = 1;
};

/// How a stretch of operations differs from others: a heap that only ever churns is easy.
struct style {
  enum appetite_type : std::size_t { churn, grow, shrink } appetite = churn;
  std::size_t one_size = 0;  ///< all requests; 0: any
};

inline style choose_style(draw d) {
  style s;
  s.appetite = static_cast<style::appetite_type>(d.below(3));
  if (d.one_in(4)) s.one_size = 1 + d.below(d.one_in(2) ? 128 : 1500);
  return s;
}

/// What a source may give, which has an end at times.
inline std::size_t bytes_allowed(draw d) { return d.one_in(3) ? d.below(1 << 17) : SIZE_MAX; }

template <class Face>
class subject_of final : public subject {
 public:
  template <class... Arguments>
  subject_of(const char* name, std::size_t threads, Arguments&&... arguments)
      : subject(name), face_(std::forward<Arguments>(arguments)...) {
    for (std::size_t i = 0; i < threads; ++i) parts_.push_back(std::make_unique<part>());
  }

  void run(std::size_t who, sequence& operations, std::uint64_t count) override {
    part& mine = *parts_[who % parts_.size()];
    const style s = choose_style(draw(operations.next()));
    for (; count > 1; --count) step(mine, who, operations.next(), s);
  }
  void verify(std::size_t who) const override { parts_[who % parts_.size()]->held.verify_all(); }

  void audit() override {
    totals all;
    for (const auto& p : parts_) {
      p->held.verify_all();
      all += p->held.counts();
      for (const block& b : p->mail) {
        model::verify(b);
        ++all.blocks;
        all.bytes += b.usable;
      }
      all.frees -= p->mail.size();
    }
    face_.audit(all, *this);
  }

  void add_ranges(std::vector<range>& all) const override {
    each_block([&](const block& b) {
      const auto begin = reinterpret_cast<std::uintptr_t>(b.address);
      all.push_back({begin, begin + taken_bytes(b), name()});
    });
  }

  void end() override {
    audit();
    if constexpr (!Face::frees_all_at_end) {
      for (const auto& p : parts_) {
        draw none(0);
        for (const block& b : std::exchange(p->mail, {})) face_.deallocate(b, none);
        for (std::size_t i = 0; i < p->held.size(); ++i) {
          block& slot = p->held[i];
          if (slot.address != nullptr) face_.deallocate(p->held.take(slot), none);
        }
      }
      audit();
    }
  }

  Face& face() { return face_; }

  void close_mail() override {
    for (const auto& p : parts_) p->post.lock();
  }
  void open_mail() override {
    for (const auto& p : parts_) p->post.unlock();
  }

  /// Calls visit(block) for each in use. Requires: nobody uses the subject.
  template <class Visit>
  void each_block(Visit visit) const {
    for (const auto& p : parts_) {
      for (const block& b : p->held.slots())
        if (b.address != nullptr) visit(b);
      for (const block& b : p->mail) visit(b);
    }
  }

 private:
  struct part {
    ledger held{std::min(Face::slots, slots_max)};
    std::mutex post;
    std::vector<block> mail;  ///< blocks that other threads gave, and that are freed here
    std::atomic<bool> has_mail{false};
  };

  /// Returns: any slot; where the appetite wants it, one of the other kind is looked for nearby.
  static block& pick(ledger& held, draw& d, const style& s) {
    const std::size_t at = d.below(held.size());
    block* slot = &held[at];
    if (s.appetite == style::churn) return *slot;
    const bool wants_empty = s.appetite == style::grow;
    for (std::size_t i = 1; i < 4 && (slot->address == nullptr) != wants_empty; ++i)
      slot = &held[(at + i) % held.size()];
    return *slot;
  }

  void step(part& mine, std::size_t who, std::uint64_t number, const style& s) {
    draw d(number);
    const std::size_t dice = d.below(4096);
    block& slot = pick(mine.held, d, s);
    if (dice < 2) return face_.rarely(d);
    if (dice < 64 && mine.has_mail.load(std::memory_order_relaxed)) receive(mine);
    if (slot.address == nullptr) {
      if (mine.held.counts().bytes < Face::most_bytes) allocate(mine, slot, number, d, s);
    } else if (dice < 600) {
      verify_stripe(slot, d.below(64));
      face_.look(slot);
    } else if (Face::reallocates && dice < 1200) {
      reallocate(mine, slot, d, s);
    } else if (parts_.size() > 1 && dice < 1800) {
      part& other = *parts_[(who + 1 + d.below(parts_.size() - 1)) % parts_.size()];
      hand_over(mine, slot, other);
    } else {
      const block b = mine.held.take(slot);
      model::verify(b);
      face_.deallocate(b, d);
    }
  }

  void allocate(part& mine, block& slot, std::uint64_t key, draw& d, const style& s) {
    const request r = face_.choose(d, s);
    block b = face_.allocate(r, d);
    if (b.address == nullptr) {
      // Others may have what is missing, and have given it back when one looks.
      require(parts_.size() > 1 || face_.refusal(r, mine.held.counts()), [&] {
        return "null for size " + std::to_string(r.size) + ", alignment " +
               std::to_string(r.alignment) + " with " + std::to_string(mine.held.counts().blocks) +
               " blocks, " + std::to_string(mine.held.counts().bytes) + " bytes in use";
      });
      return;
    }
    b.key = key;
    mine.held.add(slot, b);
  }

  void reallocate(part& mine, block& slot, draw& d, const style& s) {
    if constexpr (Face::reallocates) {
      std::size_t size = d.one_in(2) ? face_.choose(d, s).size : slot.size + d.below(64);
      if (size == 0) size = 1;
      model::verify(slot);
      const block old = slot;
      block b = face_.reallocate(old, size);
      if (b.address == nullptr) {  // refused: it is as it was
        require(Face::may_refuse, [&] { return "no realloc to " + std::to_string(size); });
        return model::verify(old);
      }
      model::verify(old, b.address, std::min(old.size, size));
      b.key = old.key;
      static_cast<void>(mine.held.take(slot));
      mine.held.add(slot, b);
    }
  }

  void hand_over(part& mine, block& slot, part& other) {
    const block b = mine.held.take(slot);
    const std::lock_guard lock(other.post);
    other.mail.push_back(b);
    other.has_mail.store(true, std::memory_order_relaxed);
  }

  void receive(part& mine) {
    std::vector<block> mail;
    {
      const std::lock_guard lock(mine.post);
      mail = std::exchange(mine.mail, {});
      mine.has_mail.store(false, std::memory_order_relaxed);
    }
    for (const block& b : mail) {
      model::verify(b);
      draw by_key(b.key);  // what other threads send takes no draw of this thread's
      face_.deallocate(b, by_key);
    }
  }

  Face face_;
  std::vector<std::unique_ptr<part>> parts_;
};

/// A kind whose subjects are subject_of<Face>, the face made from the choices.
template <class Face>
kind kind_of(const char* name, unsigned weight, bool shared = false, bool survives_fork = true) {
  return {name, weight, shared, survives_fork,
          [](const char* called, std::size_t threads, draw choices) {
            return std::unique_ptr<subject>(
                std::make_unique<subject_of<Face>>(called, threads, choices));
          }};
}

/// Effects: for each kind so many short programs of one thread, with an audit after each stretch. What breaks is thrown.
inline void try_out(const std::vector<kind>& kinds, std::uint64_t programs) {
  for (const kind& k : kinds) {
    for (std::uint64_t seed = 0; seed < programs; ++seed) {
      try {
        sequence operations(seed, 0);
        const auto tried = k.make(k.name, 1, draw(operations.next()));
        for (int stretch = 0; stretch < 15; ++stretch) {
          tried->run(0, operations, 20);
          tried->audit();
        }
        tried->end();
      } catch (const broken& fault) {
        throw broken(std::string(k.name) + ", seed " + std::to_string(seed) + ": " + fault.what());
      }
    }
  }
}

// What there is, by file.
std::vector<kind> process_kinds();
std::vector<kind> heap_kinds();
std::vector<kind> pool_kinds();
std::vector<kind> set_kinds();
std::vector<kind> arena_kinds();

/// Returns: all kinds that the program has; MODEL_OF_HEAPS: it has no pools and arenas.
inline std::vector<kind> all_kinds() {
  std::vector<kind> all;
  for (const auto& kinds : {
           process_kinds,
           heap_kinds,
#ifndef MODEL_OF_HEAPS
           pool_kinds,
           set_kinds,
           arena_kinds,
#endif
       })
    for (kind& k : kinds()) all.push_back(std::move(k));
  return all;
}

}  // namespace model
