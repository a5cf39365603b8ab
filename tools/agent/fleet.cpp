// tools/agent/fleet.cpp. Layer: agent.
#include "tools/agent/fleet.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tools/control/request.hpp"
#include "tools/files/json.hpp"

namespace ashlar::agent {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr control::bounds look_bounds{.each = milliseconds(500),
                                      .all = milliseconds(5000),
                                      .bytes = std::size_t{256} * 1024,
                                      .at_once = 64};
constexpr milliseconds as_good_as_new(500);

// Of a list no more is kept: more tags than these no process has, nor does it name more heaps.
constexpr std::size_t names_max = 257;

// Effects: fills what the text says of each thing that has a name.
template <class Stats, std::size_t N>
void read_named(const nlohmann::json& all, const char* list, const char* label,
                const stats_field<Stats> (&fields)[N], std::map<std::string, Stats>& into) {
  const auto found = all.find(list);
  if (found == all.end()) return;
  for (const nlohmann::json& each : *found) {
    if (into.size() == names_max) return;
    Stats& of = into[label_value(each.at(label).get_ref<const std::string&>())];
    for (const auto& f : fields) of.*f.value = files::count_or(each, f.name, not_told);
  }
}

// Effects: fills what the text says. Throws: nlohmann::json::exception.
void read_statistics(const std::string& text, process_figures& into) {
  // The classes are most of the text, and nobody needs them here.
  const auto keep = [](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    return depth != 1 || event != nlohmann::json::parse_event_t::key ||
           (value != "classes" && value != "large");
  };
  const nlohmann::json all = nlohmann::json::parse(text, keep);
  const nlohmann::json& total = all.at("total");
  static_cast<void>(files::count_at(total, "bytes_in_use"));  // every release has told that
  for (const auto& f : total_stats_fields)
    into.total.*f.value = files::count_or(total, f.name, not_told);
  into.total.accuracy =
      all.at("accuracy") == "exact" ? ASHLAR_ACCURACY_EXACT : ASHLAR_ACCURACY_BATCH;
  into.library = label_value(all.at("ashlar").get_ref<const std::string&>());
  read_named(all, "tags", "tag", tag_stats_fields, into.tags);
  read_named(all, "heaps", "heap", named_heap_stats_fields, into.heaps);
}

std::uint32_t kib(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes / 1024, process_hour::missing - 1));
}

}  // namespace

const process_figures* fleet_look::find(pid_t pid) const {
  for (const process_figures& each : processes)
    if (each.socket.pid == pid) return &each;
  return nullptr;
}

std::shared_ptr<const fleet_look> fleet::look() {
  const std::lock_guard guard(looking_);
  if (last_ == nullptr || clock::now() - last_->time > as_good_as_new) last_ = look_anew();
  return last_;
}

std::shared_ptr<const fleet_look> fleet::look_anew() {
  const auto begin = clock::now();
  auto now = std::make_shared<fleet_look>();
  // Twice the bound: those that are left out are counted up to there.
  std::vector<control::process_socket> sockets = control::sockets_of_all(2 * processes_max);
  std::partition(sockets.begin(), sockets.end(), [&](const control::process_socket& each) {
    return !was_silent_.contains(each.path);
  });
  if (sockets.size() > processes_max) {
    now->left_out = sockets.size() - processes_max;
    sockets.resize(processes_max);
  }
  const std::vector<control::answer> answers = control::ask_all(sockets, "stats", look_bounds);
  was_silent_.clear();
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const control::answer& each = answers[i];
    if (each.how == control::outcome::silent) {
      was_silent_.emplace(sockets[i].path, true);
      ++now->silent;
    } else if (each.how == control::outcome::done) {
      process_figures figures;
      figures.socket = sockets[i];
      if (each.from > 0) figures.socket.pid = each.from;
      try {
        read_statistics(each.text, figures);
        now->processes.push_back(std::move(figures));
      } catch (const nlohmann::json::exception&) {
        ++now->wrong;
      }
    } else if (each.how != control::outcome::not_served &&
               each.how != control::outcome::not_trusted) {
      ++now->wrong;
    }
  }
  auto& found = now->processes;
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tie(a.socket.pid, a.socket.path) < std::tie(b.socket.pid, b.socket.path);
  });
  found.erase(
      std::unique(found.begin(), found.end(),
                  [](const auto& a, const auto& b) { return a.socket.pid == b.socket.pid; }),
      found.end());
  for (process_figures& each : found) each.facts = facts_of(each.socket.pid);
  now->time = clock::now();
  now->seconds = std::chrono::duration<double>(now->time - begin).count();
  return now;
}

std::uint64_t fleet::step_now() {
  return static_cast<std::uint64_t>(clock::now().time_since_epoch() / step) + 1;
}

void fleet::remember() {
  const auto now = look();
  const std::uint64_t at = step_now();
  const std::lock_guard guard(hours_mutex_);
  for (const process_figures& each : now->processes) {
    const key k{each.socket.pid, each.facts.started};
    const auto [place, is_new] = hours_.try_emplace(k);
    process_hour& hour = place->second;
    if (is_new) {
      hour.live_kib.fill(process_hour::missing);
      hour.resident_kib.fill(process_hour::missing);
    } else if (at != hour.last_step) {
      for (std::uint64_t s =
               std::max(hour.last_step + 1, at - std::min<std::uint64_t>(at, process_hour::points));
           s < at; ++s)
        hour.live_kib[s % process_hour::points] = hour.resident_kib[s % process_hour::points] =
            process_hour::missing;
      const auto more = each.total.allocations - std::min(each.total.allocations, hour.allocations);
      hour.calls_per_second =
          static_cast<double>(more) / static_cast<double>((at - hour.last_step) * step.count());
    }
    hour.live_kib[at % process_hour::points] = kib(each.total.bytes_in_use);
    hour.resident_kib[at % process_hour::points] = kib(each.total.resident_bytes);
    hour.allocations = each.total.allocations;
    hour.last_step = at;
  }
  // Of an hour ago, or the ones that ended first where there are too many.
  std::erase_if(hours_,
                [&](const auto& h) { return at - h.second.last_step >= process_hour::points; });
  while (hours_.size() > processes_max)
    hours_.erase(std::ranges::min_element(hours_, [](const auto& a, const auto& b) {
      return a.second.last_step < b.second.last_step;
    }));
}

fleet::trend fleet::trend_of(const process_figures& of) const {
  constexpr std::uint64_t minute_steps = std::chrono::minutes(1) / step;
  trend found;
  const std::lock_guard guard(hours_mutex_);
  const auto place = hours_.find(key{of.socket.pid, of.facts.started});
  if (place == hours_.end()) return found;
  const process_hour& hour = place->second;
  for (std::size_t i = 1; i <= process_hour::points; ++i) {
    const std::size_t at = (hour.last_step + i) % process_hour::points;
    found.live_kib.push_back(hour.live_kib[at]);
    found.resident_kib.push_back(hour.resident_kib[at]);
  }
  found.calls_per_second = hour.calls_per_second;
  const std::uint32_t before = found.live_kib[process_hour::points - 1 - minute_steps];
  if (before != process_hour::missing)
    found.growth_per_minute = (static_cast<double>(found.live_kib.back()) - before) * 1024;
  return found;
}

}  // namespace ashlar::agent
