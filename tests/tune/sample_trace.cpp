// Writes a trace of a program with phases: what lives in one does not in another, and some blocks are over-aligned.
// Run: sample_trace FILE.
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>

#include "tools/trace/writer.hpp"

int main(int argc, char** argv) try {
  using namespace ashlar::trace;
  if (argc != 2) return 2;
  std::ofstream file(argv[1], std::ios::binary);
  trace_header header;
  header.set(header_name::program, "/bin/sample");
  header.set(header_name::ticks_per_second, 1'000'000'000);
  trace_writer out([&](std::string_view bytes) { file << bytes; }, header);
  std::mt19937 random(12);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 1 << 20;
  std::uint64_t time = 0;
  for (std::uint32_t phase = 0; phase < 12; ++phase) {
    for (int n = 0; n < 1500; ++n) {
      event e;
      e.thread = 1;
      e.time = time += 100;
      if (live.empty() || random() % 100 < (phase % 3 == 2 ? 35 : 60)) {
        e.kind = event_kind::by_malloc;
        e.size = random() % 2 == 0 ? 24 + 100 * (phase % 4) : random() % 700;
        if (random() % 50 == 0) {
          e.kind = event_kind::by_aligned;
          e.alignment = 64;
        }
        e.address = next;
        next += 1024;
        live.push_back(e.address);
      } else {
        const std::size_t which = random() % live.size();
        e.kind = event_kind::from_free;
        e.address = live[which];
        live[which] = live.back();
        live.pop_back();
      }
      out.add(e);
    }
  }
  out.close();
  file.close();
  return file ? 0 : 1;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
