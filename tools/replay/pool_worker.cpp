// tools/replay/pool_worker.cpp: ashlar-replay-pool-worker: a script on ashlar's pools of given sizes and capacities.
// Layer: replay.
//
//   pool-worker time|latency|slack ends|all LEAST-ALIGNMENT SIZE ALIGNMENT CAPACITY ...
#include <charconv>
#include <vector>

#include "tools/replay/pool_classes.hpp"
#include "tools/replay/worker.hpp"

namespace {

using namespace ashlar::replay;

std::uint64_t number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) give_up("no number", EINVAL);
  return value;
}

run_result result;  // large: not on the stack

}  // namespace

int main(int argc, char** argv) {
  constexpr int classes_begin = 4;
  if (argc < classes_begin + 3 || (argc - classes_begin) % 3 != 0)
    give_up("it is started by `ashlar replay`, with other words than these", EINVAL);
  std::vector<class_request> classes;
  for (int at = classes_begin; at < argc; at += 3)
    classes.push_back({number(argv[at]), number(argv[at + 1]), number(argv[at + 2])});
  pool_classes target(classes, number(argv[3]));
  if (!target.has_all_blocks()) give_up("no memory for pools of these capacities", ENOMEM);
  run_worker(target, argc, argv, result);
  if (!target.audit()) {
    static_cast<void>(::fputs("ashlar-replay-pool-worker: the pools' audit fails\n", stderr));
    return worker_gave_up;
  }
  const auto per_class = target.results();
  result.classes = static_cast<std::uint32_t>(per_class.size());
  write_result(&result, sizeof result);
  write_result(per_class.data(), per_class.size_bytes());
  return 0;
}
