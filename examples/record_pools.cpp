// A program that records its own pools. What they had to hold is then known, and `ashlar tune` chooses pools that do:
//   $ example_record_pools pools.atrace
//   $ ashlar report --text pools.atrace
//   $ ashlar tune --classes 3 -o pools.hpp pools.atrace
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <ashlar/core/trace_recorder.hpp>
#include <ashlar/pool/pool_set.hpp>
#include <ashlar/pool/static_pool.hpp>

namespace {

/// Where the trace goes, and its clock.
struct to_file {
  static constexpr std::uint64_t ticks_per_second = 1'000'000'000;
  std::FILE* file = nullptr;

  static std::uint64_t now() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  }
  bool write(const std::byte* bytes, std::size_t count) noexcept {
    // After a part of a frame the trace is at its end.
    return file != nullptr && std::ferror(file) == 0 && std::fwrite(bytes, 1, count, file) == count;
  }
};

struct job {
  int number;
  char* text;
  std::size_t text_bytes;
};

constinit ashlar::trace_recorder<to_file, std::mutex> recorder;
constinit ashlar::static_pool<job, 100, ashlar::named<"jobs">, ashlar::recording::to<recorder>>
    jobs;
constinit ashlar::static_pool_set<ashlar::blocks<48, 100>, ashlar::blocks<256, 100>,
                                  ashlar::named<"texts">, ashlar::recording::to<recorder>>
    texts;

job* submit(int number) {
  const std::size_t bytes = number % 3 == 0 ? 100 : 40;
  auto* const text = static_cast<char*>(texts.allocate(bytes));
  std::snprintf(text, bytes, "job %d", number);
  return jobs.create(job{number, text, bytes});
}
void finish(job* done) {
  texts.deallocate(done->text, done->text_bytes);
  jobs.destroy(done);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "pools.atrace";
  recorder.port().file = std::fopen(path, "wb");
  if (!recorder.begin("example_record_pools")) {
    std::fprintf(stderr, "%s cannot be written: %s\n", path, std::strerror(errno));
    return 1;
  }
  for (int round = 0; round < 100; ++round) {
    job* waiting[12];
    for (int i = 0; i < 12; ++i) waiting[i] = submit(i);
    for (job* j : waiting) finish(j);
  }
  const bool is_whole = recorder.end();
  std::fclose(recorder.port().file);
  std::printf("%s: %s, %u events lost\n", path, is_whole ? "whole" : "without its end",
              unsigned{recorder.lost()});
  return is_whole ? 0 : 1;
}
