// Captures packets into a ring for the busiest link there is, and listens to a quiet one for a moment.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

struct ring {
  explicit ring(std::size_t size)
      : bytes(static_cast<unsigned char*>(std::aligned_alloc(64, size))),  // planted: untouched
        size(size) {
    if (bytes == nullptr) std::abort();
  }
  ~ring() { std::free(bytes); }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  void push(const unsigned char* packet, std::size_t length) {
    if (at + length > size) at = 0;
    std::memcpy(bytes + at, packet, length);
    at += length;
  }
  unsigned char* bytes;
  std::size_t size;
  std::size_t at = 0;
};

int main() {
  ring captured(64u << 20);
  std::map<int, long> lengths;
  unsigned char packet[1514] = {};
  for (int i = 0; i < 3000; ++i) {
    const std::size_t length = 60 + static_cast<std::size_t>(i) * 7919 % 1454;
    packet[17] = static_cast<unsigned char>(i);
    captured.push(packet, length);
    ++lengths[static_cast<int>(length / 500)];
  }
  std::printf("%zu bytes, %zu kinds of length\n", captured.at, lengths.size());
  return 0;
}
