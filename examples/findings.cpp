// What to change where `ashlar report --text` points: with the standard library, and with ashlar. The
// command shows the lines between "snippet" and "end", so this program is what it advises.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/ashlar.hpp>

namespace {

struct row {
  std::string_view table;
  std::string_view name;
};
constexpr std::array<row, 3> rows{{{"a table with a long name", "first"},
                                   {"a table with a long name", "second"},
                                   {"another table with a long name", "first"}}};

std::size_t growth() {
  // snippet growth standard
  std::vector<std::size_t> lengths;
  lengths.reserve(rows.size());  // one block, instead of one for each doubling
  for (const row& r : rows) lengths.push_back(r.name.size());
  // end
  return lengths.capacity();
}

std::size_t untouched() {
  // snippet untouched standard
  std::string text;
  text.reserve(200);  // what is usual, not the most that may come: it doubles where it has to
  for (const row& r : rows) text.append(r.table).append(".").append(r.name);
  // end
  return text.size();
}

std::size_t reused(const std::set<std::string, std::less<>>& known) {
  std::size_t found = 0;
  // snippet short_lived standard
  std::string key;  // outside of the loop: it keeps its memory from row to row
  for (const row& r : rows) {
    key.assign(r.table).append(".").append(r.name);
    found += known.count(key);
  }
  // end
  return found;
}

std::size_t in_scratch_memory(const std::set<std::string, std::less<>>& known) {
  std::size_t found = 0;
  // snippet short_lived ashlar
  static constinit ashlar::static_arena<64 * 1024> scratch;  // no heap; one thread
  for (const row& r : rows) {
    const ashlar::arena_scope scope(scratch);  // its end takes back what the row allocated
    ashlar::pmr::resource memory(scratch);
    std::pmr::string key(r.table, &memory);
    key.append(".").append(r.name);
    found += known.count(std::string_view(key));
  }
  // end
  return found;
}

std::size_t together() {
  // snippet together standard
  std::pmr::monotonic_buffer_resource memory(64 * 1024);
  std::pmr::vector<std::pmr::string> names(&memory);  // the strings have the same memory
  for (const row& r : rows) names.emplace_back(r.table);
  // end
  return names.size();
}

std::size_t together_in_arena() {
  // snippet together ashlar
  ashlar::arena<ashlar::process_source> memory(
      ashlar::arena_growth{.first_chunk_bytes = 64 * 1024});
  const ashlar::arena_scope scope(memory);  // its end takes all back at once, and keeps the memory
  auto* const copy = memory.create<row>(rows[0]);
  // end
  return copy->name.size();
}

std::size_t kept_together() {
  // snippet pins standard
  // What lives long has memory of its own, so it keeps no page of what dies around it. One thread.
  std::pmr::unsynchronized_pool_resource kept;
  std::pmr::vector<std::pmr::string> names(&kept);
  names.emplace_back(rows[0].table);
  // end
  return names.size();
}

std::size_t kept_in_heap() {
  // snippet pins ashlar
  static ashlar::heap<> kept({.name = "names"});  // pages of its own, for any thread
  ashlar::pmr::resource memory(kept);
  std::pmr::vector<std::pmr::string> names(&memory);
  names.emplace_back(rows[0].table);
  // end
  return names.size();
}

std::size_t nodes() {
  // snippet nodes standard
  std::pmr::unsynchronized_pool_resource memory;  // one thread; the nodes lie side by side
  std::pmr::map<std::string_view, int> counts(&memory);
  for (const row& r : rows) ++counts[r.table];
  // end
  return counts.size();
}

// snippet nodes ashlar
// At most 1000 entries, and not one call of a heap: the nodes are in this object.
constinit ashlar::static_pool_for<std::map<std::string_view, int>, 1000> count_nodes;
// end

std::size_t nodes_in_pool() {
  // snippet nodes ashlar
  decltype(count_nodes)::container counts(count_nodes);
  for (const row& r : rows) ++counts[r.table];
  // end
  return counts.size();
}

struct job {
  explicit job(int n) : number(n) {}
  int number;
};

int pooled_by_standard() {
  // snippet pool standard
  std::pmr::unsynchronized_pool_resource memory;  // one thread; all blocks go with it
  std::pmr::polymorphic_allocator<> jobs(&memory);
  auto* const one = jobs.new_object<job>(1);
  // ...
  // end
  const int number = one->number;
  // snippet pool standard
  jobs.delete_object(one);
  // end
  return number;
}

// snippet pool ashlar
// The class's own pool: `new task` and make_unique<task>() take their block from it.
struct task;
extern constinit ashlar::static_pool<task, 1000> tasks;
struct task : ashlar::pooled<task, tasks> {
  int number = 0;
};
constinit ashlar::static_pool<task, 1000> tasks;
// end

// snippet handoff standard
// The reader of a queue puts what it has read into `used`, and the writer takes it from there.
struct free_list {
  std::mutex lock;
  std::vector<std::unique_ptr<job>> used;
  std::unique_ptr<job> take(int number) {
    const std::lock_guard guard(lock);
    if (used.empty()) return std::make_unique<job>(number);
    std::unique_ptr<job> again = std::move(used.back());
    used.pop_back();
    *again = job(number);
    return again;
  }
};
// end

// snippet handoff ashlar
// As many messages as can be under way. Any thread may create one, and any thread destroy it.
constinit ashlar::static_pool<job, 256, ashlar::spin_lock> messages;
// end

// snippet slack standard
// The whole of it fits the block, header and all; a plain char[4096] would not.
struct buffer {
  buffer* next;
  char bytes[4096 - sizeof(buffer*)];
};
static_assert(sizeof(buffer) <= 4096);
// end

}  // namespace

int main() {
  const std::set<std::string, std::less<>> known{"a table with a long name.second"};
  std::printf("%zu, %zu, %zu and %zu\n", growth(), untouched(), reused(known),
              in_scratch_memory(known));
  std::printf("%zu, %zu\n", together(), together_in_arena());
  std::printf("%zu and %zu\n", nodes(), nodes_in_pool());
  std::printf("%zu kept, %zu kept\n", kept_together(), kept_in_heap());
  const auto one = std::make_unique<task>();
  std::printf("%d and %zu in use\n", pooled_by_standard(), tasks.stats().blocks_in_use);
  free_list list;
  list.used.push_back(list.take(1));
  const std::unique_ptr<job> again = list.take(2);
  job* const sent = messages.create(3);
  std::printf("%d, %zu left; %d; %zu bytes\n", again->number, list.used.size(), sent->number,
              sizeof(buffer));
  messages.destroy(sent);
  return 0;
}
