// core/line_writer.hpp: text into a fixed buffer, for code that may not allocate.
// Layer: core (freestanding).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ashlar {

/// Collects text in a caller's buffer; what does not fit is dropped at the end, never written past
/// it. Not thread-safe: one writer per call.
class text_writer {
 public:
  /// Requires: `capacity` is not 0; the buffer outlives the writer.
  constexpr text_writer(char* buffer, std::size_t capacity) noexcept
      : text_(buffer), capacity_(capacity) {}
  text_writer(const text_writer&) = delete;
  text_writer& operator=(const text_writer&) = delete;

  text_writer& operator<<(const char* text) noexcept {
    for (; *text != '\0'; ++text) put(*text);
    return *this;
  }
  text_writer& operator<<(std::string_view text) noexcept {
    for (const char c : text) put(c);
    return *this;
  }
  /// An address, as 0x and hexadecimal digits.
  text_writer& operator<<(const void* address) noexcept {
    *this << "0x";
    return number(reinterpret_cast<std::uintptr_t>(address), 16);
  }
  /// A number, decimal.
  template <std::unsigned_integral N>
  text_writer& operator<<(N n) noexcept {
    return number(n, 10);
  }

  /// Effects: the last character is the end of a line, in place of another if there is no room.
  void end_line() noexcept {
    if (used_ == capacity_) --used_;
    put('\n');
  }

  /// Effects: the text ends with a zero byte, in place of its last character if there is no room.
  void end_text() noexcept {
    if (used_ == capacity_) --used_;
    put('\0');
  }

  [[nodiscard]] const char* data() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  void put(char c) noexcept {
    if (used_ < capacity_) text_[used_++] = c;
  }
  text_writer& number(std::uint64_t n, unsigned base) noexcept {
    char digits[20];
    unsigned count = 0;
    do {
      digits[count++] = "0123456789abcdef"[n % base];
      n /= base;
    } while (n != 0);
    while (count != 0) put(digits[--count]);
    return *this;
  }

  char* text_;
  std::size_t capacity_;
  std::size_t used_ = 0;
};

/// The same with a buffer of its own, of `Capacity` bytes.
template <std::size_t Capacity>
class line_writer : public text_writer {
  static_assert(Capacity != 0);

 public:
  line_writer() noexcept : text_writer(own_, Capacity) {}

 private:
  char own_[Capacity];
};

}  // namespace ashlar
