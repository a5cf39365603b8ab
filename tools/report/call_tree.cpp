// tools/report/call_tree.cpp. Layer: report.
#include "tools/report/call_tree.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ashlar::report {

call_counts& call_counts::operator+=(const call_counts& more) {
  births += more.births;
  bytes += more.bytes;
  blocks_at_peak += more.blocks_at_peak;
  bytes_at_peak += more.bytes_at_peak;
  blocks_at_end += more.blocks_at_end;
  bytes_at_end += more.bytes_at_end;
  temporaries += more.temporaries;
  return *this;
}

bool call_counts::is_below(std::uint64_t part, const call_counts& all) const {
  const auto is_less = [&](std::uint64_t call_counts::* figure) {
    return this->*figure == 0 || this->*figure < all.*figure / part;
  };
  return is_less(&call_counts::births) && is_less(&call_counts::bytes) &&
         is_less(&call_counts::blocks_at_peak) && is_less(&call_counts::bytes_at_peak) &&
         is_less(&call_counts::blocks_at_end) && is_less(&call_counts::bytes_at_end) &&
         is_less(&call_counts::temporaries);
}

void call_counter::count(const trace::step& s) {
  const bool ends_temporary = temporaries_.ends_one(s);
  if (s.happened == trace::step::what::birth) {
    const std::size_t i = index_of(s.stack, s.thread);
    ++entries_[i].counts.births;
    entries_[i].counts.bytes += s.size;
    change(i, s.size, 1);
  } else if (s.happened == trace::step::what::death) {
    const std::size_t i = index_of(s.stack, s.born_by);
    entries_[i].counts.temporaries += ends_temporary ? 1 : 0;
    change(i, s.size, -1);
  }
}

void call_counter::mark() {
  live_blocks_.mark();
  live_bytes_.mark();
}

std::vector<call_counter::entry> call_counter::counts() const {
  std::vector<entry> all = entries_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].counts.blocks_at_peak = static_cast<std::uint64_t>(live_blocks_.at_mark(i));
    all[i].counts.bytes_at_peak = static_cast<std::uint64_t>(live_bytes_.at_mark(i));
    all[i].counts.blocks_at_end = static_cast<std::uint64_t>(live_blocks_.now(i));
    all[i].counts.bytes_at_end = static_cast<std::uint64_t>(live_bytes_.now(i));
  }
  return all;
}

std::size_t call_counter::index_of(std::uint32_t stack, std::uint32_t thread) {
  const std::uint64_t key = std::uint64_t{stack} << 32 | thread;
  const auto [found, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new) {
    entries_.push_back({stack, thread, {}});
    live_blocks_.add_count();
    live_bytes_.add_count();
  }
  return found->second;
}

void call_counter::change(std::size_t i, std::uint64_t size, std::int64_t sign) {
  live_blocks_.add(i, sign);
  live_bytes_.add(i, sign * static_cast<std::int64_t>(size));
}

namespace {

constexpr std::uint64_t smallest_share = 500;

using node_key = std::pair<std::string, std::string>;  // name, source

struct growing_node {
  node_key key;
  std::string brief;
  call_counts counts;
  std::map<node_key, std::size_t> children;
};

// The whole tree first; then it is walked without what is small.
class growing_tree {
 public:
  growing_tree() { nodes_.push_back({{"program", ""}, "program", {}, {}}); }

  std::size_t child(std::size_t of, const node_key& key, const std::string& brief) {
    const auto [at, is_new] = nodes_[of].children.try_emplace(key, nodes_.size());
    const std::size_t index = at->second;
    if (is_new) nodes_.push_back({key, brief, {}, {}});
    return index;
  }
  void count(std::size_t node, const call_counts& more) { nodes_[node].counts += more; }

  std::vector<call_node> flattened() const {
    std::vector<call_node> flat;
    std::vector<std::pair<std::size_t, std::uint32_t>> waiting{{0, 0}};  // node, parent in `flat`
    while (!waiting.empty()) {
      const auto [index, parent] = waiting.back();
      waiting.pop_back();
      const auto self = static_cast<std::uint32_t>(flat.size());
      const growing_node& node = nodes_[index];
      flat.push_back({node.key.first, node.brief, node.key.second, parent, node.counts});
      std::vector<std::size_t> shown;
      call_counts smaller;
      for (const auto& [key, child] : nodes_[index].children) {
        if (nodes_[child].counts.is_below(smallest_share, nodes_[0].counts)) {
          smaller += nodes_[child].counts;
        } else {
          shown.push_back(child);
        }
      }
      if (smaller.births > 0) flat.push_back({"(smaller)", "(smaller)", "", self, smaller});
      std::ranges::sort(shown, [&](std::size_t a, std::size_t b) {
        const call_counts& x = nodes_[a].counts;
        const call_counts& y = nodes_[b].counts;
        return std::pair(x.bytes_at_peak, x.bytes) < std::pair(y.bytes_at_peak, y.bytes);
      });
      for (const std::size_t child : shown) waiting.emplace_back(child, self);
    }
    return flat;
  }

 private:
  std::vector<growing_node> nodes_;
};

}  // namespace

std::vector<call_node> call_tree(const std::vector<trace::stack_definition>& stacks,
                                 const std::vector<call_counter::entry>& entries,
                                 const names_of_stack& names_of) {
  std::unordered_map<std::uint32_t, call_counts> by_stack;
  for (const call_counter::entry& entry : entries) by_stack[entry.stack] += entry.counts;
  growing_tree tree;
  for (const trace::stack_definition& stack : stacks) {
    const auto found = by_stack.find(stack.number);
    if (found == by_stack.end()) continue;
    std::size_t node = 0;
    tree.count(node, found->second);
    const auto calls = names_of(stack);
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
      node = tree.child(node, {call->name, call->place()}, call->brief());
      tree.count(node, found->second);
    }
    by_stack.erase(found);
  }
  call_counts without_stack;
  for (const auto& [number, counts] : by_stack) without_stack += counts;
  if (without_stack.births > 0) {
    tree.count(0, without_stack);
    const std::string name = "(no stack recorded)";
    tree.count(tree.child(0, {name, ""}, name), without_stack);
  }
  return tree.flattened();
}

}  // namespace ashlar::report
