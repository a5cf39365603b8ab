// check/sampled_blocks.cpp: samples by their addresses, sites by their call stacks.
// Layer: check.
#include <algorithm>
#include <cstring>
#include <new>

#include <ashlar/check/sampled_blocks.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/os/page_source.hpp>

namespace ashlar::detail {
namespace {

std::uint64_t hash_of(const void* const* frames, unsigned depth, unsigned tag) noexcept {
  std::uint64_t hash = std::uint64_t{tag} << 32 | depth;
  for (unsigned i = 0; i < depth; ++i) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[i])) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/// Effects: a child of fork that has what is written afterwards has what was written before.
void order_for_a_fork() noexcept { std::atomic_thread_fence(std::memory_order_release); }

}  // namespace

bool sampled_blocks::start() noexcept {
  const std::lock_guard guard(mutex_);
  if (samples_.load(std::memory_order_relaxed) != nullptr) return true;
  if (site_buckets_ == nullptr)
    site_buckets_ = static_cast<sampled_site**>(memory(sizeof(sampled_site*) << site_bucket_bits));
  void* const table = memory(sizeof(std::atomic<block_sample*>) << sample_bucket_bits);
  if (site_buckets_ == nullptr || table == nullptr) return false;
  samples_.store(static_cast<std::atomic<block_sample*>*>(table), std::memory_order_release);
  return true;
}

void* sampled_blocks::memory(std::size_t bytes) noexcept {
  bytes = align_up(bytes, alignof(block_sample));
  if (bytes > chunk_left_) {
    const std::size_t fresh_bytes = std::max(sizeof(piece) + bytes, chunk_bytes);
    void* const fresh = os::page_source::allocate(fresh_bytes, alignof(block_sample));
    if (fresh == nullptr) return nullptr;
    memory_bytes_.fetch_add(fresh_bytes, std::memory_order_relaxed);
    pieces_ = new (fresh) piece{.next = pieces_, .bytes = fresh_bytes};
    auto* const first = static_cast<std::byte*>(fresh) + sizeof(piece);
    const std::size_t has = fresh_bytes - sizeof(piece);
    if (has - bytes < chunk_left_) return first;  // a table: the chunk goes on
    chunk_ = first;
    order_for_a_fork();
    chunk_left_ = has;
  }
  void* const p = chunk_;
  chunk_left_ -= bytes;
  order_for_a_fork();
  chunk_ += bytes;
  return p;
}

block_sample* sampled_blocks::new_sample() noexcept {
  if (block_sample* const s = spare_; s != nullptr) {
    spare_ = s->next_in_bucket;
    return s;
  }
  return static_cast<block_sample*>(memory(sizeof(block_sample)));
}

/// Effects: adds `sign` times the sample to what is live at its site and of its tag.
void sampled_blocks::count_live(const block_sample& s, double sign) noexcept {
  sampled_site& site = *s.site;
  const double bytes = s.weight * static_cast<double>(s.size);
  site.sums.live_blocks += sign * s.weight;
  site.sums.live_bytes += sign * bytes;
  site.live_births_ns += sign * s.weight * static_cast<double>(s.born_ns);
  if (site.tag == 0) return;
  sampled_tag& tag = tags_[site.tag - 1];
  tag.live_bytes += sign * bytes;
  tag.live_variance += sign * (1 - 1 / s.weight) * bytes * bytes;
}

unsigned sampled_blocks::number_of(std::string_view tag) noexcept {
  const std::lock_guard guard(mutex_);
  if (tags_ == nullptr) {
    void* const p = memory(sizeof(sampled_tag) * other_tags);
    if (p == nullptr) return 0;
    tags_ = new (p) sampled_tag[other_tags];
    constexpr char others[] = "(other)";
    std::memcpy(tags_[other_tags - 1].name, others, sizeof others);
  }
  for (unsigned i = 0; i < tag_count_; ++i)
    if (std::memcmp(tags_[i].name, tag.data(), tag.size()) == 0 &&
        tags_[i].name[tag.size()] == '\0')
      return i + 1;
  if (tag_count_ == tags_max) return other_tags;
  std::memcpy(tags_[tag_count_].name, tag.data(), tag.size());
  order_for_a_fork();
  return ++tag_count_;
}

bool sampled_blocks::read_tag(unsigned number, sampled_tag& out) noexcept {
  const std::lock_guard guard(mutex_);
  const bool is_known = number == other_tags ? tag_count_ == tags_max : number - 1 < tag_count_;
  if (!is_known) return false;
  out = tags_[number - 1];
  // What is left of a sum of which all was subtracted may be less.
  out.live_bytes = std::max(out.live_bytes, 0.0);
  out.live_variance = std::max(out.live_variance, 0.0);
  return true;
}

void sampled_blocks::limit_tag(unsigned number, std::uint64_t bytes) noexcept {
  const std::lock_guard guard(mutex_);
  tags_[number - 1].limit_bytes = bytes;
}

bool sampled_blocks::take_crossing(unsigned number, sampled_tag& out) noexcept {
  const std::lock_guard guard(mutex_);
  sampled_tag& tag = tags_[number - 1];
  const auto limit = static_cast<double>(tag.limit_bytes);
  if (tag.limit_bytes == 0 || tag.live_bytes <= limit) {
    tag.is_above = false;
    return false;
  }
  const double above = tag.live_bytes - limit;
  if (tag.is_above || above * above <= 4 * tag.live_variance) return false;
  tag.is_above = true;
  out = tag;
  return true;
}

sampled_site* sampled_blocks::site_of(const void* const* frames, unsigned depth,
                                      unsigned tag) noexcept {
  std::uint64_t hash = hash_of(frames, depth, tag);
  sampled_site** bucket = &site_buckets_[hash >> (64 - site_bucket_bits)];
  for (sampled_site* s = *bucket; s != nullptr; s = s->next_in_bucket)
    if (s->hash == hash && s->depth == depth && s->tag == tag &&
        std::equal(frames, frames + depth, s->frames))
      return s;
  if (site_count_ >= sites_max && depth != 0) return site_of(nullptr, 0, tag);
  void* const p = memory(sizeof(sampled_site) + depth * sizeof(void*));
  if (p == nullptr) return nullptr;
  auto* const s = new (p) sampled_site;
  s->hash = hash;
  s->depth = depth;
  s->tag = tag;
  std::copy(frames, frames + depth, s->frames);
  s->next_in_bucket = *bucket;
  s->next = sites_;
  order_for_a_fork();
  sites_ = s;
  *bucket = s;
  ++site_count_;
  return s;
}

void sampled_blocks::insert(block_sample* s) noexcept {
  std::atomic<block_sample*>& bucket =
      samples_.load(std::memory_order_relaxed)[bucket_of(s->block)];
  s->next_in_bucket = bucket.load(std::memory_order_relaxed);
  bucket.store(s, std::memory_order_release);
}

block_sample* sampled_blocks::find(const void* block) const noexcept {
  block_sample* s =
      samples_.load(std::memory_order_relaxed)[bucket_of(block)].load(std::memory_order_relaxed);
  while (s != nullptr && s->block != block) s = s->next_in_bucket;
  return s;
}

void sampled_blocks::add(const void* block, std::size_t size, double weight, std::uint64_t now_ns,
                         const void* const* frames, unsigned depth, unsigned tag) noexcept {
  const std::lock_guard guard(mutex_);
  sampled_site* const site = site_of(frames, depth, tag);
  block_sample* const s = site != nullptr ? new_sample() : nullptr;
  if (s == nullptr) return;
  *s = {.block = block,
        .size = size,
        .weight = weight,
        .born_ns = now_ns,
        .site = site,
        .next_in_bucket = nullptr};
  site->sums.allocated_blocks += weight;
  site->sums.allocated_bytes += weight * static_cast<double>(size);
  count_live(*s, 1);
  insert(s);
}

bool sampled_blocks::contains(const void* block) noexcept {
  if (!may_contain(block)) return false;
  const std::lock_guard guard(mutex_);
  return find(block) != nullptr;
}

block_sample* sampled_blocks::take(const void* block) noexcept {
  if (!may_contain(block)) return nullptr;
  const std::lock_guard guard(mutex_);
  block_sample* const s = find(block);
  if (s == nullptr) return nullptr;
  std::atomic<block_sample*>& bucket = samples_.load(std::memory_order_relaxed)[bucket_of(block)];
  if (bucket.load(std::memory_order_relaxed) == s) {
    bucket.store(s->next_in_bucket, std::memory_order_relaxed);
  } else {
    block_sample* before = bucket.load(std::memory_order_relaxed);
    while (before->next_in_bucket != s) before = before->next_in_bucket;
    before->next_in_bucket = s->next_in_bucket;
  }
  return s;
}

void sampled_blocks::end(block_sample* s, std::uint64_t now_ns) noexcept {
  const std::lock_guard guard(mutex_);
  count_live(*s, -1);
  s->site->sums.lifetime_ns += s->weight * static_cast<double>(now_ns - s->born_ns);
  s->next_in_bucket = spare_;
  spare_ = s;
}

void sampled_blocks::put_back(block_sample* s, const void* block) noexcept {
  const std::lock_guard guard(mutex_);
  s->block = block;
  insert(s);
}

void sampled_blocks::forget_allocations() noexcept {
  const std::lock_guard guard(mutex_);
  for (sampled_site* s = sites_; s != nullptr; s = s->next)
    s->sums.allocated_blocks = s->sums.allocated_bytes = s->sums.lifetime_ns = 0;
}

}  // namespace ashlar::detail
