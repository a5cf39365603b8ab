// tools/report/call_tree.cpp. Layer: report.
#include "tools/report/call_tree.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <utility>

namespace ashlar::report {
namespace {

constexpr std::uint64_t smallest_share = 500;

void add(call_counts& to, const call_counts& more) {
  to.births += more.births;
  to.bytes += more.bytes;
  to.blocks_at_peak += more.blocks_at_peak;
  to.bytes_at_peak += more.bytes_at_peak;
}

bool is_small(const call_counts& part, const call_counts& of) {
  return part.births < of.births / smallest_share && part.bytes < of.bytes / smallest_share &&
         part.blocks_at_peak <= of.blocks_at_peak / smallest_share &&
         part.bytes_at_peak <= of.bytes_at_peak / smallest_share;
}

std::string hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

struct growing_node {
  std::string name;
  call_counts counts;
  std::map<std::string, std::size_t> children;
};

// The whole tree first; then it is walked without what is small.
class growing_tree {
 public:
  growing_tree() { nodes_.push_back({"program", {}, {}}); }

  std::size_t child(std::size_t of, const std::string& name) {
    const auto found = nodes_[of].children.find(name);
    if (found != nodes_[of].children.end()) return found->second;
    const std::size_t made = nodes_.size();
    nodes_[of].children.emplace(name, made);
    nodes_.push_back({name, {}, {}});
    return made;
  }
  void count(std::size_t node, const call_counts& more) { add(nodes_[node].counts, more); }

  std::vector<call_node> flattened() const {
    std::vector<call_node> flat;
    std::vector<std::pair<std::size_t, std::uint32_t>> waiting{{0, 0}};  // node, parent in `flat`
    while (!waiting.empty()) {
      const auto [index, parent] = waiting.back();
      waiting.pop_back();
      const auto self = static_cast<std::uint32_t>(flat.size());
      flat.push_back({nodes_[index].name, parent, nodes_[index].counts});
      std::vector<std::size_t> shown;
      call_counts smaller;
      for (const auto& [name, child] : nodes_[index].children) {
        if (is_small(nodes_[child].counts, nodes_[0].counts)) {
          add(smaller, nodes_[child].counts);
        } else {
          shown.push_back(child);
        }
      }
      if (smaller.births > 0) flat.push_back({"(smaller)", self, smaller});
      std::sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
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

name_of_address names_by_module(std::vector<trace::module_definition> modules) {
  std::sort(modules.begin(), modules.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return [sorted = std::move(modules)](std::uint64_t address) {
    auto after = std::upper_bound(
        sorted.begin(), sorted.end(), address,
        [](std::uint64_t wanted, const auto& module) { return wanted < module.begin; });
    if (after == sorted.begin() || address >= (--after)->end) return hexadecimal(address);
    const std::string& path = after->path;
    std::string file = path.substr(path.rfind('/') + 1);
    if (address == after->bias) return file;  // a pool (docs/trace-format.md)
    return file + "+" + hexadecimal(address - after->bias);
  };
}

std::vector<call_node> call_tree(const std::vector<trace::stack_definition>& stacks,
                                 const std::vector<call_counts>& counts,
                                 const call_counts& without_stack, const name_of_address& name_of) {
  growing_tree tree;
  std::unordered_map<std::uint64_t, std::string> names;
  const auto name = [&](std::uint64_t address) -> const std::string& {
    const auto [at, is_new] = names.try_emplace(address);
    if (is_new) at->second = name_of(address);
    return at->second;
  };
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (counts[i].births == 0) continue;
    std::size_t node = 0;
    tree.count(node, counts[i]);
    const auto& frames = stacks[i].frames;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      node = tree.child(node, name(*frame));
      tree.count(node, counts[i]);
    }
  }
  if (without_stack.births > 0) {
    tree.count(0, without_stack);
    tree.count(tree.child(0, "(no stack recorded)"), without_stack);
  }
  return tree.flattened();
}

}  // namespace ashlar::report
