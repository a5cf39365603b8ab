// tests/support/written_stats.hpp: what ashlar_stats_write writes, as a string.
#pragma once

#include <tests/support/test_headers.hpp>

#include <ashlar/ashlar.h>

namespace ashlar::test {

/// Returns: the blocks of the process heap in use; exact in a program of one thread.
inline std::uint64_t blocks_in_use() {
  ashlar_stats s;
  ashlar_stats_get(&s);
  return s.total.allocations - s.total.frees;
}

inline std::string written_stats(ashlar_stats_format format) {
  std::FILE* file = std::tmpfile();
  EXPECT_NE(file, nullptr);
  if (file == nullptr) return {};
  EXPECT_EQ(ashlar_stats_write(file, format), 0);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

}  // namespace ashlar::test
