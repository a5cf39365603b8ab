// tools/agent/spool.hpp: what waits for a collector, in bounded memory. Layer: agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace ashlar::agent {

// One profile on its way.
struct pushed_profile {
  std::string place;  // the request's path with its query, or the file's name
  std::string bytes;
};

// The oldest is the first. Invariant: bytes() is the sum over all that wait, at most bytes_max.
class spool {
 public:
  explicit spool(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Effects: it waits, and the oldest ones are dropped where there is no room. One that is larger
  // than all the room is dropped itself.
  void add(pushed_profile one) {
    if (size_of(one) > bytes_max_) {
      ++dropped_;
      return;
    }
    for (; bytes_ + size_of(one) > bytes_max_; ++dropped_) pop();
    bytes_ += size_of(one);
    waiting_.push_back(std::move(one));
  }
  [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
  [[nodiscard]] const pushed_profile& oldest() const { return waiting_.front(); }
  void pop() {
    bytes_ -= size_of(waiting_.front());
    waiting_.pop_front();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] static std::size_t size_of(const pushed_profile& one) {
    return sizeof one + one.place.size() + one.bytes.size();
  }

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::deque<pushed_profile> waiting_;
};

}  // namespace ashlar::agent
