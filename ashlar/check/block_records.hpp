// check/block_records.hpp: what is known of each block under full checks, found by its address.
// Layer: check.
//
// Invariant: every record is in exactly one bucket, in the list of spare ones, or with who took it
// out; count == those in buckets.
// Thread-safety: none; the owner locks. Memory of its own, from the system: the heap may be what is
// broken.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/fault/report.hpp>
#include <ashlar/os/page_source.hpp>

namespace ashlar::detail {

struct block_record {
  std::byte* address = nullptr;  ///< what the caller has
  std::size_t size = 0;          ///< what the caller asked for
  void* block = nullptr;         ///< the heap's block around it
  std::size_t block_bytes = 0;
  deed made;
  deed freed;
  bool is_spoilt = false;  ///< a fault told that its bytes were written to: it is not used again
  block_record* next_in_bucket = nullptr;
  block_record* next_in_queue = nullptr;
};

class block_records {
 public:
  constexpr block_records() noexcept = default;
  block_records(const block_records&) = delete;
  block_records& operator=(const block_records&) = delete;

  /// Returns: the record of the block at `address`, or null. O(1) expected.
  [[nodiscard]] block_record* find(const void* address) const noexcept {
    if (buckets_ == nullptr) return nullptr;
    block_record* r = buckets_[bucket_of(address)];
    while (r != nullptr && r->address != address) r = r->next_in_bucket;
    return r;
  }

  /// Returns: a record for `address`, its other members as new; null when memory was refused.
  /// Requires: none is there. O(1) amortised.
  [[nodiscard]] block_record* add(std::byte* address) noexcept {
    if (count_ == bucket_count_ && !grow()) return nullptr;
    if (spare_ == nullptr && !more_spare()) return nullptr;
    block_record* const r = spare_;
    spare_ = r->next_in_bucket;
    *r = block_record{};
    r->address = address;
    insert(r);
    ++count_;
    return r;
  }

  /// Effects: nobody finds the record any more; it stays until it is put by.
  void take_out(block_record* r) noexcept {
    block_record** link = &buckets_[bucket_of(r->address)];
    while (*link != r) link = &(*link)->next_in_bucket;
    *link = r->next_in_bucket;
    --count_;
  }
  /// Effects: the record may be used again. Requires: it was taken out.
  void put_by(block_record* r) noexcept {
    r->next_in_bucket = spare_;
    spare_ = r;
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns: bytes that it has from the system.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return bucket_count_ * sizeof(block_record*) + chunk_count_ * sizeof(chunk);
  }

  /// Effects: gives all memory back. Requires: nobody uses a record any more, nor ever will.
  void release_all() noexcept {
    os::page_source::deallocate(buckets_, bucket_count_ * sizeof(block_record*),
                                alignof(block_record*));
    while (chunks_ != nullptr) {
      chunk* const next = chunks_->next;
      os::page_source::deallocate(chunks_, sizeof(chunk), alignof(chunk));
      chunks_ = next;
    }
  }

  /// Effects: calls visit(record) for each. O(buckets + records).
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < bucket_count_; ++i)
      for (block_record* r = buckets_[i]; r != nullptr; r = r->next_in_bucket) visit(*r);
  }

 private:
  friend struct watch_layout;  // tells where the members are
  static constexpr std::size_t first_buckets = 4096;
  static constexpr std::size_t chunk_bytes = 256 * 1024;

  struct chunk {
    static constexpr std::size_t count =
        (chunk_bytes - alignof(block_record)) / sizeof(block_record);
    chunk* next;
    block_record records[count];
  };
  static_assert(sizeof(chunk) <= chunk_bytes);

  [[nodiscard]] std::size_t bucket_of(const void* address) const noexcept {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the low bits of addresses
    // repeat.
    const auto hash =
        (std::uint64_t{reinterpret_cast<std::uintptr_t>(address)} >> 4) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(hash >> 32) & (bucket_count_ - 1);
  }

  void insert(block_record* r) noexcept {
    block_record*& bucket = buckets_[bucket_of(r->address)];
    r->next_in_bucket = bucket;
    bucket = r;
  }

  [[nodiscard]] bool grow() noexcept {
    const std::size_t wider = bucket_count_ == 0 ? first_buckets : bucket_count_ * 2;
    auto* const fresh = static_cast<block_record**>(
        os::page_source::allocate(wider * sizeof(block_record*), alignof(block_record*)));
    if (fresh == nullptr) return false;
    block_record** const old = buckets_;
    const std::size_t old_count = bucket_count_;
    buckets_ = fresh;
    bucket_count_ = wider;
    for (std::size_t i = 0; i < old_count; ++i) {
      for (block_record* r = old[i]; r != nullptr;) {
        block_record* const next = r->next_in_bucket;
        insert(r);
        r = next;
      }
    }
    os::page_source::deallocate(old, old_count * sizeof(block_record*), alignof(block_record*));
    return true;
  }

  [[nodiscard]] bool more_spare() noexcept {
    auto* const fresh =
        static_cast<chunk*>(os::page_source::allocate(sizeof(chunk), alignof(chunk)));
    if (fresh == nullptr) return false;
    fresh->next = chunks_;
    chunks_ = fresh;
    ++chunk_count_;
    for (block_record& r : fresh->records) {
      r.next_in_bucket = spare_;
      spare_ = &r;
    }
    return true;
  }

  block_record** buckets_ = nullptr;
  std::size_t bucket_count_ = 0;  ///< 0 or a power of two
  std::size_t count_ = 0;
  block_record* spare_ = nullptr;
  chunk* chunks_ = nullptr;  ///< all that records were cut from
  std::size_t chunk_count_ = 0;
};

}  // namespace ashlar::detail
