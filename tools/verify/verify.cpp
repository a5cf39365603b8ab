// tools/verify/verify.cpp. Layer: verify.
#include "tools/verify/verify.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <openssl/sha.h>

#include <ashlar/pool/fixed_pool.hpp>

#include "tools/trace/lifetimes.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::verify {

namespace {

using u64 = std::uint64_t;
using nlohmann::json;

struct need {
  u64 size;
  u64 alignment;
  u64 asked;  // the size itself
  auto operator<=>(const need&) const = default;
};
struct place {
  std::size_t in_class = 0;
  std::size_t in_sizes = 0;
};
using needs = std::map<need, place>;
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
  std::array<unsigned char, SHA256_DIGEST_LENGTH> sum{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), sum.data());
  return fmt::format("{:02x}", fmt::join(sum, ""));
}

class verification {
 public:
  verification(const json& certificate, const std::vector<std::string>& files)
      : all_(certificate),
        alignment_(whole(all_.at("alignment"))),
        largest_(whole(all_.at("largest"))),
        margin_(whole(all_.at("margin_percent"))),
        borrows_(all_.at("spill") == "take_larger") {
    if (whole(all_.at("certificate")) != 1 || all_.at("mode") != "static" ||
        (!borrows_ && all_.at("spill") != "never") || margin_ > 10'000 || alignment_ == 0 ||
        (alignment_ & (alignment_ - 1)) != 0)
      throw refused("the certificate is of a kind that this version does not know");
    for (const json& c : all_.at("classes")) {
      classes_.push_back({whole(c.at("block_size")), whole(c.at("alignment")), whole(c.at("peak")),
                          whole(c.at("capacity")), whole(c.at("bytes"))});
    }
    const json& traces = all_.at("traces");
    if (!files.empty()) require("number of traces", traces.size(), files.size());
    for (std::size_t t = 0; t < traces.size(); ++t)
      read_trace(files.empty() ? traces[t].at("file").get<std::string>() : files[t], traces[t]);
    place_needs();
  }

  void check_classes() const {
    const std::vector<u64> most = peaks(false);
    u64 total = 0, behind_alignment = 1;
    for (std::size_t c = classes_.size(); c-- > 0;) {
      const auto& [block_size, alignment, peak, capacity, bytes] = classes_[c];
      const std::string name = fmt::format("class {}, ", c);
      need served{0, alignof(void*), 0};
      for (const auto& [each, at] : needs_) {
        if (at.in_class == c)
          served = {std::max(served.size, each.size), std::max(served.alignment, each.alignment),
                    0};
      }
      require(name + "block_size", block_size, served.size);
      require(name + "alignment", alignment, served.alignment);
      require(name + "peak", peak, most[c]);
      if (!borrows_) require(name + "capacity", capacity, with_margin(most[c]));
      require(name + "bytes", bytes, class_bytes(block_size, alignment, capacity));
      total = with_behind(bytes, alignment, total, behind_alignment);
      behind_alignment = std::max(behind_alignment, alignment);
    }
    require("total_bytes", whole(all_.at("total_bytes")), total);
  }

  // docs/tuning.md, "Borrowing": no capacities that serve the traces have fewer bytes in blocks.
  void check_borrowing_bound() const {
    if (!borrows_) return;
    const std::vector<u64> most_from = peaks(true);
    u64 bound = 0, blocks = 0, cheapest = UINT64_MAX;
    for (std::size_t c = classes_.size(); c-- > 0;) {
      cheapest = std::min(cheapest, rounded_up(classes_[c].block_size, classes_[c].alignment));
      const u64 before = std::exchange(blocks, std::max(most_from[c], blocks + 1));
      bound += (blocks - before) * cheapest;
    }
    require("least_block_bytes", whole(all_.at("least_block_bytes")), bound);
  }

  void check_optimum() const {
    const u64 most = whole(all_.at("at_most_classes"));
    const json& curve = all_.at("curve");
    if (most == 0 || most > 256 || curve.size() > 256 || classes_.size() > most)
      throw refused("at_most_classes: not that many");
    const std::vector<u64> least = least_by_moments(std::max<std::size_t>(most, curve.size()));
    const u64 total = whole(all_.at("total_bytes"));
    if (!borrows_ || total > least[most])
      require(fmt::format("least bytes of {} classes", most), total, least[most]);
    for (std::size_t k = 1; k <= curve.size(); ++k)
      require(fmt::format("curve at {} classes", k), whole(curve[k - 1]), least[k]);
    require("bytes of fewer classes than were allowed", least[classes_.size()], least[most]);
  }

  void check_replays() const {
    for (const u64 failed : replay(0)) require("requests that pools could not serve", 0, failed);
    if (margin_ != 0 || borrows_) return;
    // Without borrowing no class knows of another, so each is made smaller in the same replay.
    for (const u64 failed : replay(1)) require("classes too large by a block", 0, failed == 0);
  }

 private:
  static u64 whole(const json& value) { return value.get_ref<const json::number_unsigned_t&>(); }
  static u64 rounded_up(u64 n, u64 step) { return (n + step - 1) / step * step; }
  // docs/tuning.md, "Bytes": counters and list head, a link for each block and one more, the blocks.
  static u64 class_bytes(u64 block_size, u64 alignment, u64 capacity) {
    const u64 link = capacity <= 253 ? 1 : capacity <= 65'533 ? 2 : 4;
    return rounded_up(16, alignment) + rounded_up(16 + (capacity + 1) * link, alignment) +
           capacity * rounded_up(block_size, alignment);
  }
  static u64 with_behind(u64 bytes, u64 alignment, u64 behind, u64 behind_alignment) {
    return rounded_up(rounded_up(bytes, behind_alignment) + behind,
                      std::max(alignment, behind_alignment));
  }

  [[nodiscard]] u64 with_margin(u64 blocks) const { return blocks + (blocks * margin_ + 99) / 100; }

  void read_trace(const std::string& file, const json& said) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error(fmt::format("cannot read the trace '{}'", file));
    if (said.at("sha256") != sha256(std::string(std::istreambuf_iterator<char>(stream), {})))
      throw refused(fmt::format("{}: not the trace that the pools were chosen for (sha256)", file));
    trace::trace_reader reader(trace::open_file_source(file));
    trace::lifetimes blocks(reader);
    auto& changes = traces_.emplace_back();
    u64 births = 0, left_out = 0;
    for (trace::step s; blocks.next(s);) {
      const bool birth = s.happened == trace::step::what::birth;
      if (!birth && s.happened != trace::step::what::death) continue;
      (s.size > largest_ ? left_out : births) += birth;
      if (s.size > largest_) continue;
      // A request needs its size rounded up to its alignment: no block of that alignment has fewer bytes.
      const u64 alignment = std::max(s.alignment, alignment_);
      const u64 size = rounded_up(std::max<u64>(s.size, 1), alignment);
      changes.push_back({&*needs_.try_emplace({size, alignment, s.size}).first, s.slot, birth});
    }
    require(file + ": births", whole(said.at("births")), births);
    require(file + ": deaths", whole(said.at("deaths")), changes.size() - births);
    require(file + ": left_out", whole(said.at("left_out")), left_out);
    require(file + ": unknown_deaths", whole(said.at("unknown_deaths")), blocks.unknown_deaths());
  }

  [[nodiscard]] bool fits(std::size_t c, const need& asked) const {
    return classes_[c].block_size >= asked.asked && classes_[c].alignment >= asked.alignment;
  }

  // A class is found as a pool set does it: the smallest that fits.
  void place_needs() {
    for (auto& [asked, at] : needs_) {
      if (sizes_.empty() || sizes_.back().size != asked.size)
        sizes_.push_back({asked.size, alignof(void*), 0});
      sizes_.back().alignment = std::max(sizes_.back().alignment, asked.alignment);
      at.in_sizes = sizes_.size() - 1;
      while (at.in_class < classes_.size() && !fits(at.in_class, asked)) ++at.in_class;
      if (at.in_class == classes_.size())
        throw refused(fmt::format("no class serves requests of {} bytes", asked.size));
    }
  }

  // The most blocks alive at one time, of each class or of it and all larger ones together.
  [[nodiscard]] std::vector<u64> peaks(bool with_larger) const {
    std::vector<u64> most(classes_.size());
    for (const auto& changes : traces_) {
      std::vector<u64> alive(classes_.size());
      for (const change& e : changes) {
        const std::size_t last = e.asked->second.in_class;
        for (std::size_t c = with_larger ? 0 : last; c <= last; ++c) {
          alive[c] += e.birth ? u64{1} : ~u64{0};
          most[c] = std::max(most[c], alive[c]);
        }
      }
    }
    return most;
  }

  // At [k]: the least bytes of at most k classes, if no more blocks had been alive than were at one of the moments. More
  // were, so no classes that serve the traces have fewer bytes.
  [[nodiscard]] std::vector<u64> least_by_moments(std::size_t most) const {
    const std::size_t count = sizes_.size();
    std::vector<std::vector<std::int64_t>>
        below;  // of each moment, the blocks alive that are smaller
    for (const json& at : all_.at("moments")) {
      const u64 trace = whole(at.at(0)), changes = whole(at.at(1));
      if (at.size() != 2 || trace >= traces_.size() || changes > traces_[trace].size())
        throw refused(fmt::format("moments: there is no moment {}", at.dump()));
      std::vector<std::int64_t>& sums = below.emplace_back(count + 1);
      for (const change& c : std::span(traces_[trace]).first(changes))
        sums[c.asked->second.in_sizes + 1] += c.birth ? 1 : -1;
      std::partial_sum(sums.begin(), sums.end(), sums.begin());
    }
    std::vector<u64> misled(
        count, UINT64_MAX);  // a class up to here so aligned gets requests of larger needs
    for (const auto& [each, at] : needs_) {
      for (std::size_t j = at.in_sizes; j-- > 0 && sizes_[j].size >= each.asked;)
        misled[j] = std::min(misled[j], each.alignment);
    }
    constexpr u64 impossible = UINT64_MAX / 4;
    std::vector<std::vector<u64>> least(count + 1, std::vector<u64>(most + 1, impossible));
    std::fill(least[count].begin(), least[count].end(), 0);
    u64 from_here = 1;  // alignment of all classes from i on
    std::vector<u64> behind_alignment(count, 1);
    for (std::size_t i = count; i-- > 0;) {
      behind_alignment[i] = from_here;
      from_here = std::max(from_here, sizes_[i].alignment);
      std::vector<std::int64_t> peak(count, 1);
      for (const auto& sums : below) {
        for (std::size_t j = i; j < count; ++j) peak[j] = std::max(peak[j], sums[j + 1] - sums[i]);
      }
      u64 alignment = 1;
      for (std::size_t j = i; j < count; ++j) {
        alignment = std::max(alignment, sizes_[j].alignment);
        if (alignment >= misled[j]) continue;
        const u64 bytes =
            class_bytes(sizes_[j].size, alignment, with_margin(static_cast<u64>(peak[j])));
        for (std::size_t k = 1; k <= most; ++k)
          least[i][k] = std::min(
              least[i][k], with_behind(bytes, alignment, least[j + 1][k - 1], behind_alignment[j]));
      }
    }
    return least[0];
  }

  // Serves each trace by real pools of `fewer` blocks less. Returns: the failures of each class.
  [[nodiscard]] std::vector<u64> replay(u64 fewer) const {
    std::vector<u64> failures(classes_.size());
    for (const auto& changes : traces_) {
      std::vector<std::unique_ptr<std::byte[]>> storage;
      std::vector<fixed_pool<>> pools;
      for (const size_class& c : classes_) {
        const block_layout layout{c.block_size, c.alignment};
        const std::size_t bytes = fixed_pool<>::storage_bytes(layout, c.capacity - fewer);
        storage.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
        pools.emplace_back(layout, std::span(storage.back().get(), bytes));
        require("blocks of a real pool", c.capacity - fewer, pools.back().stats().capacity);
      }
      std::vector<std::pair<void*, std::size_t>> in_slot;
      for (const change& e : changes) {
        if (e.slot >= in_slot.size()) in_slot.resize(e.slot + std::size_t{1});
        auto& [block, c] = in_slot[e.slot];
        if (!e.birth) {
          if (block != nullptr) pools[c].deallocate(std::exchange(block, nullptr));
          continue;
        }
        c = e.asked->second.in_class;
        block = pools[c].try_allocate();
        for (std::size_t d = c + 1; borrows_ && block == nullptr && d < pools.size(); ++d) {
          if (fits(d, e.asked->first)) block = pools[c = d].try_allocate();
        }
        failures[c] += block == nullptr;
      }
    }
    return failures;
  }

  const json& all_;
  u64 alignment_, largest_, margin_;
  bool borrows_;
  std::vector<size_class> classes_;
  needs needs_;
  std::vector<need> sizes_;  // each once, with the most alignment of those who need it
  std::vector<std::vector<change>> traces_;
};

}  // namespace

void verify(std::string_view certificate, const std::vector<std::string>& files,
            const std::function<void(std::string_view)>& tell) try {
  const json all = json::parse(certificate);
  json unsealed = all;
  unsealed.erase("seal");
  if (all.at("seal") != sha256(unsealed.dump()))
    throw refused("it was changed after it was written: its seal is another");
  const verification checked(all, files);
  checked.check_classes();
  tell(
      "the traces are the ones; the classes have the peaks, capacities and bytes that they should "
      "have");
  checked.check_borrowing_bound();
  checked.check_optimum();
  checked.check_replays();
  tell("no set of as few classes has fewer bytes; real pools serve every request");
} catch (const json::exception& error) {
  throw refused(fmt::format("this is no certificate of ashlar tune: {}", error.what()));
}

}  // namespace ashlar::verify
