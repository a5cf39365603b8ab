// Every component of tests/model against its model, by the operations that the input says: two bytes choose the component and
// how many blocks it holds at most, eight are one operation.
#include <tests/fuzz/input.hpp>
#include <tests/fuzz/stop_at_failure.hpp>
#include <tests/model/subject.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::stop_at_failure::begin();
  static const std::vector<model::kind> kinds = model::all_kinds();
  const std::span<const std::uint8_t> bytes(data, size);
  fuzz::input head(bytes.first(std::min<std::size_t>(size, 2)));
  const model::kind& kind = kinds[head.below(kinds.size())];
  model::slots_max = std::size_t{4} << head.below(10);
  model::sequence operations(bytes.subspan(std::min<std::size_t>(size, 2)));
  const auto subject = kind.make(kind.name, 1, model::draw(operations.next()));
  while (operations.left() != 0)
    subject->run(0, operations, std::min<std::size_t>(operations.left(), 200));
  subject->end();
  return 0;
}
