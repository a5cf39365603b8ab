// tools/verify/verify.cpp. Layer: verify.
//
// It finds the class of a request by code of its own (fits, place_needs), as all else here: it must
// not share a mistake with what it checks. replay, report and tune use tools/trace/address_map.hpp.
#include "tools/verify/verify.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <openssl/sha.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/os/page_source.hpp>
#include <ashlar/pool/fixed_pool.hpp>

#include "tools/profile/profile_file.hpp"
#include "tools/profile/size_grid.hpp"
#include "tools/trace/lifetimes.hpp"

namespace ashlar::verify {

namespace {

using u64 = std::uint64_t;
using nlohmann::json;
using grid = profiling::pool_grid;
using happened = trace::step::what;

struct need {
  u64 size, alignment, asked;  // asked: the size itself
  auto operator<=>(const need&) const = default;
};
using needs = std::map<need, u64>;  // each with the place of its size
struct needed_size {
  u64 size, alignment, in_class;  // alignment: the most of those who need it
};
struct change {
  needs::value_type* asked;
  std::uint32_t slot;
  bool birth;
};
struct size_class {
  u64 block_size, alignment, peak, capacity, bytes;
};

void require(const std::string& what, u64 said, u64 is) {
  if (said != is)
    throw refused(fmt::format("{}: the certificate says {}, and it is {}", what, said, is));
}
std::string sha256(std::string_view bytes) {
  unsigned char sum[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), sum);
  return fmt::format("{:02x}", fmt::join(sum, ""));
}

class verification {
 public:
  verification(const json& certificate, const std::vector<std::string>& files) : all_(certificate) {
    if (all_.at("spill") != "never" || !is_power_of_two(alignment_) || alignment_ > 1 << 20 ||
        margin_ > 10'000 || (!exact_ && all_.at("resolution") != "profile"))
      throw refused("spill, margin_percent, alignment or resolution: there is no such");
    for (const json& c : all_.at("classes"))
      classes_.push_back({whole(c.at("block_size")), whole(c.at("alignment")), whole(c.at("peak")),
                          whole(c.at("capacity")), whole(c.at("bytes"))});
    if (!files.empty()) require("number of inputs", all_.at("inputs").size(), files.size());
    for (const json& each : all_.at("inputs"))
      read_input(files.empty() ? each.at("file").get<std::string>() : files[traces_.size()], each);
    place_needs();
  }

  void check_classes() const {
    u64 total = 0, behind_alignment = 1;
    for (std::size_t c = classes_.size(), end = sizes_.size(), begin = end; c-- > 0; end = begin) {
      const auto& [block_size, alignment, peak, capacity, bytes] = classes_[c];
      const std::string name = fmt::format("class {}, ", c);
      u64 most_aligned = alignof(void*);
      for (; begin > 0 && sizes_[begin - 1].in_class == c; --begin)
        most_aligned = std::max(most_aligned, sizes_[begin - 1].alignment);
      if (begin == end) throw refused(name + "it serves no request");
      const u64 most = peak_of(begin, end);
      require(name + "block_size", block_size, sizes_[end - 1].size);
      require(name + "alignment", alignment, most_aligned);
      require(name + "peak", peak, most);
      require(name + "capacity", capacity, with_margin(most));
      require(name + "bytes", bytes, class_bytes(block_size, alignment, capacity));
      total = with_behind(bytes, alignment, total, behind_alignment);
      behind_alignment = std::max(behind_alignment, alignment);
    }
    require("total_bytes", total_, total);
  }

  void check_optimum() const {
    const u64 most = whole(all_.at("at_most_classes"));
    const json& curve = all_.at("curve");
    if (most > 256 || curve.size() > 256 || classes_.size() > most)
      throw refused("at_most_classes: not that many");
    const std::vector<u64> least = least_by_moments(std::max<std::size_t>(most, curve.size()));
    require(fmt::format("least bytes of {} classes", most), total_, least[most]);
    for (std::size_t k = 1; k <= curve.size(); ++k)
      require(fmt::format("curve at {} classes", k), whole(curve[k - 1]), least[k]);
  }

  // Returns: what was found.
  [[nodiscard]] std::string_view check_replays() const {
    for (const u64 failed : replay(0, 0)) require("requests that pools could not serve", 0, failed);
    if (runs_.runs > 0) return "profiles have no order to replay; real pools serve the traces";
    // No class knows of another, and of a block less than without the margin each fails.
    for (const u64 failed : replay(margin_, 1))
      require("classes of another capacity than needed", 0, failed == 0);
    return "real pools serve every request";
  }

 private:
  static u64 whole(const json& value) { return value.get_ref<const json::number_unsigned_t&>(); }
  // docs/tuning.md, "Bytes": counters and list head, a link for each block and one more, the blocks.
  static u64 class_bytes(u64 block_size, u64 alignment, u64 capacity) {
    const u64 link = capacity <= 253 ? 1 : capacity <= 65'533 ? 2 : 4;
    return align_up(16, alignment) + align_up(16 + (capacity + 1) * link, alignment) +
           capacity * align_up(block_size, alignment);
  }
  static u64 with_behind(u64 bytes, u64 alignment, u64 rest, u64 rest_aligned) {
    return align_up(align_up(bytes, rest_aligned) + rest, std::max(alignment, rest_aligned));
  }

  [[nodiscard]] u64 with_margin(u64 blocks) const { return blocks + (blocks * margin_ + 99) / 100; }
  static u64 without(u64 margin, u64 capacity) { return capacity * 100 / (100 + margin); }

  void read_input(const std::string& file, const json& said) {
    auto source = trace::open_file_source(file);
    std::string bytes(source->size(), '\0');
    source->read(0, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    if (said.at("sha256") != sha256(bytes)) throw refused(file + ": not what was tuned (sha256)");
    u64 births = 0, deaths = 0;
    profiling::profile read;  // of a trace: what pools chosen for it may lack
    // A request needs its size rounded up to its alignment: no block of that alignment has fewer bytes. Where sizes are
    // as profiles tell them apart, it is rounded up to theirs, too, and what they do not have is left out.
    const auto count = [&](u64 asked, u64 alignment, u64 born, u64 died) -> needs::value_type* {
      const u64 own = std::max(alignment, alignment_);
      const u64 size = exact_ ? align_up(std::max<u64>(asked, 1), own)
                       : grid::serves(asked, alignment)
                           ? align_up(grid::need_of(asked, alignment), alignment_)
                           : UINT64_MAX;
      const bool counts = (exact_ ? asked : size) <= largest_;
      (counts ? births : read.left_out) += born;
      deaths += counts ? died : 0;
      return counts ? &*needs_.try_emplace({size, own, asked}).first : nullptr;
    };
    auto& changes = traces_.emplace_back();
    if (said.at("kind") != "trace") {
      if (said.at("kind") != "profile" || exact_)
        throw refused("kind: no trace; and a profile does not have the exact sizes");
      read = profiling::decode(*source);
      for (const auto& [step, born, requested, lived] : read.pools)
        count(grid::size_of(step), 1, born, std::accumulate(lived.begin(), lived.end(), u64{0}));
      for (const auto& [alignment, step, smallest] : read.aligned) count(smallest, alignment, 0, 0);
      profiling::merge(runs_, read);
    } else {
      trace::trace_reader reader(std::move(source));
      trace::lifetimes blocks(reader);
      for (trace::step s; blocks.next(s);) {
        const bool birth = s.happened == happened::birth, other = s.happened == happened::other;
        if (other && s.kind == trace::event_kind::lost) read.lost_events += s.size;
        if (other && s.kind == trace::event_kind::refused) ++read.refused_requests;
        if (!birth && s.happened != happened::death) continue;
        if (auto* const asked = count(s.size, s.alignment, birth, !birth))
          changes.push_back({asked, s.slot, birth});
      }
      read.unknown_deaths = blocks.unknown_deaths();
      read.unfinished_runs = reader.warning().empty() ? 0 : 1;
    }
    require(file + ": births", whole(said.at("births")), births);
    require(file + ": deaths", whole(said.at("deaths")), deaths);
    require(file + ": left_out", whole(said.at("left_out")), read.left_out);
    require(file + ": unknown_deaths", whole(said.at("unknown_deaths")), read.unknown_deaths);
    require(file + ": unfinished_runs", whole(said.at("unfinished_runs")), read.unfinished_runs);
    require(file + ": lost_events", whole(said.at("lost_events")), read.lost_events);
    require(file + ": refused_requests", whole(said.at("refused_requests")), read.refused_requests);
  }

  [[nodiscard]] bool fits(std::size_t c, const need& asked) const {
    return classes_[c].block_size >= asked.asked && classes_[c].alignment >= asked.alignment;
  }

  // A class is found as a pool set does it: the smallest that fits. Each is to serve an interval of the sizes.
  void place_needs() {
    for (auto& [asked, in_sizes] : needs_) {
      std::size_t c = 0;
      while (c < classes_.size() && !fits(c, asked)) ++c;
      if (c == classes_.size())
        throw refused(fmt::format("no class serves requests of {} bytes", asked.size));
      // Where two classes share the requests of one size, the first has too small an alignment for check_classes().
      if (!sizes_.empty() && c < sizes_.back().in_class)
        throw refused(fmt::format("class {} serves no interval of the sizes", c));
      if (sizes_.empty() || sizes_.back().size != asked.size)
        sizes_.push_back({asked.size, alignof(void*), c});
      sizes_.back().alignment = std::max(sizes_.back().alignment, asked.alignment);
      in_sizes = sizes_.size() - 1;
    }
  }

  // The most blocks of sizes begin, ..., end - 1 alive at one time, in the runs of profiles or in all inputs.
  [[nodiscard]] u64 profiled(std::size_t begin, std::size_t end) const {
    return runs_.peak_between(grid::step_of(begin == 0 ? 1 : sizes_[begin - 1].size + 1),
                              grid::step_of(sizes_[end - 1].size));
  }
  [[nodiscard]] u64 peak_of(std::size_t begin, std::size_t end) const {
    u64 most = profiled(begin, end);
    for (const auto& changes : traces_)
      for (u64 alive = 0; const change& e : changes)
        if (begin <= e.asked->second && e.asked->second < end)
          most = std::max(most, alive += e.birth ? u64{1} : ~u64{0});
    return most;
  }

  // At [k]: the least bytes of at most k classes, if no more blocks had been alive than were at one of the moments. More
  // were, so no classes that serve the traces have fewer bytes.
  [[nodiscard]] std::vector<u64> least_by_moments(std::size_t most) const {
    const std::size_t count = sizes_.size();
    // Of each size: at each moment, the blocks alive that are smaller.
    std::vector<std::vector<std::uint32_t>> below(count + 1);
    std::vector<std::uint32_t> alive(count + 1);
    for (u64 e = 0, last_trace = 0; const json& at : all_.at("moments")) {
      const u64 trace = whole(at.at(0)), changes = whole(at.at(1));
      if (at.size() != 2 || trace >= traces_.size() || changes > traces_[trace].size())
        throw refused(fmt::format("moments: there is no moment {}", at.dump()));
      // Where they are in the order of time, as tune has them, each trace is read once.
      const bool goes_on = std::exchange(last_trace, trace) == trace && e <= changes;
      if (!goes_on) alive.assign(count + 1, 0);
      for (e = goes_on ? e : 0; e < changes; ++e)
        alive[traces_[trace][e].asked->second + 1] += traces_[trace][e].birth ? 1u : ~0u;
      for (std::uint32_t sum = 0, j = 0; j <= count; ++j) below[j].push_back(sum += alive[j]);
    }
    // A class up to here and so aligned gets requests of larger needs.
    std::vector<u64> misled(count, UINT64_MAX);
    for (const auto& [each, in_sizes] : needs_)
      for (std::size_t j = in_sizes; j-- > 0 && sizes_[j].size >= each.asked;)
        misled[j] = std::min(misled[j], each.alignment);
    std::vector<std::vector<u64>> least(count + 1, std::vector<u64>(most + 1, UINT64_MAX / 4));
    std::ranges::fill(least[count], 0);
    std::vector<u64> aligned_from(count + 1, 1);
    for (std::size_t i = count; i-- > 0;) {
      aligned_from[i] = std::max(aligned_from[i + 1], sizes_[i].alignment);
      for (std::size_t j = i, alignment = 1; j < count; ++j) {
        alignment = std::max<u64>(alignment, sizes_[j].alignment);
        if (alignment >= misled[j]) continue;
        u64 peak = runs_.runs == 0 ? 1 : std::max<u64>(1, profiled(i, j + 1));
        for (std::size_t m = 0; m < below[j].size(); ++m)
          peak = std::max<u64>(peak, below[j + 1][m] - below[i][m]);
        const u64 bytes = class_bytes(sizes_[j].size, alignment, with_margin(peak));
        for (std::size_t k = 1; k <= most; ++k)
          least[i][k] = std::min(
              least[i][k], with_behind(bytes, alignment, least[j + 1][k - 1], aligned_from[j + 1]));
      }
    }
    return least[0];
  }

  // Serves each trace by real pools without the margin, and of `fewer` blocks less. Returns: the failures of each class.
  [[nodiscard]] std::vector<u64> replay(u64 margin, u64 fewer) const {
    std::vector<u64> failures(classes_.size());
    for (const auto& changes : traces_) {
      if (changes.empty()) continue;  // a profile
      std::vector<fixed_pool<os::page_source>> pools;
      for (const size_class& c : classes_) {
        const u64 blocks = without(margin, c.capacity) - fewer;
        pools.emplace_back(block_layout{c.block_size, c.alignment}, heap_pool{blocks});
        if (pools.back().capacity() != blocks) throw std::bad_alloc();
      }
      std::vector<std::pair<void*, std::size_t>> in_slot;
      for (const change& e : changes) {
        if (e.slot >= in_slot.size()) in_slot.resize(e.slot + std::size_t{1});
        auto& [block, c] = in_slot[e.slot];
        if (!e.birth) pools[c].deallocate(std::exchange(block, nullptr));
        if (e.birth) block = pools[c = sizes_[e.asked->second].in_class].try_allocate();
        failures[c] += e.birth && block == nullptr;
      }
    }
    return failures;
  }

  const json& all_;
  u64 alignment_ = whole(all_.at("alignment")), largest_ = whole(all_.at("largest"));
  u64 margin_ = whole(all_.at("margin_percent")), total_ = whole(all_.at("total_bytes"));
  bool exact_ = all_.at("resolution") == "exact";
  std::vector<size_class> classes_;
  needs needs_;
  std::vector<needed_size> sizes_;           // each once
  std::vector<std::vector<change>> traces_;  // of each input; of a profile none
  profiling::profile runs_;                  // of all profiles
};

}  // namespace

void verify(std::string_view certificate, const std::vector<std::string>& files,
            const std::function<void(std::string_view)>& tell) try {
  const json all = json::parse(certificate);
  if (all.value("certificate", json()) != 2 || all.value("mode", json()) != "static")
    throw std::runtime_error("no certificate of static pools of version 2: tune again");
  // A name that is twice in the text is once in what was parsed.
  std::string text(certificate), parsed = all.dump();
  for (std::string* const each : {&text, &parsed})
    std::erase_if(*each, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  json unsealed = all;
  unsealed.erase("seal");
  if (text != parsed || all.at("seal") != sha256(unsealed.dump()))
    throw refused("it was changed after it was written: its seal is another");
  const verification checked(all, files);
  checked.check_classes();
  tell("the files are the ones; the classes have the peaks, capacities and bytes that are claimed");
  checked.check_optimum();
  tell("no set of as few classes has fewer bytes");
  tell(checked.check_replays());
} catch (const json::exception&) {
  throw std::runtime_error("no certificate of ashlar tune: it is no JSON, or lacks a claim");
}

}  // namespace ashlar::verify
