// tools/report/counter_tracks.cpp. Layer: report.
#include "tools/report/counter_tracks.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ashlar::report {
namespace {

using nlohmann::json;

// The counters of one process.
class tracks {
 public:
  explicit tracks(const json& data)
      : seconds_(data["timeline"]["seconds"]), pid_(data["trace"]["pid"]) {
    const std::string program = data["trace"]["program"];
    const std::string name = program.empty() ? data["trace"]["file"].get<std::string>() : program;
    events_.push_back(
        {{"ph", "M"}, {"name", "process_name"}, {"pid", pid_}, {"args", {{"name", name}}}});
  }

  void add(const std::string& name, std::string_view unit, const json& values) {
    json before;
    for (std::size_t p = 0; p < values.size(); ++p) {
      if (values[p] == before) continue;
      before = values[p];
      events_.push_back({{"ph", "C"},
                         {"name", name},
                         {"pid", pid_},
                         {"ts", seconds_[p].get<double>() * 1e6},
                         {"args", {{unit, values[p]}}}});
    }
  }
  [[nodiscard]] json take() { return std::move(events_); }

 private:
  const json& seconds_;
  json pid_;
  json events_ = json::array();
};

std::string name_of(const json& site) {
  const std::string source = site["source"];
  const std::string name = site["name"];
  return source.empty() ? name : name + " at " + source;
}

}  // namespace

json counter_tracks(const json& data) {
  const json& timeline = data["timeline"];
  tracks all(data);
  all.add("live bytes", "bytes", timeline["live_bytes"]);
  all.add("live blocks", "blocks", timeline["live_blocks"]);
  if (const json& held = timeline["held"]; !held.is_null()) {
    const json& sites = data["sites"]["sites"];
    for (const json& course : held["sites"])
      all.add("held: " + name_of(sites[course["site"].get<std::size_t>()]), "bytes",
              course["bytes"]);
    all.add("held: other call sites", "bytes", held["others"]);
  }
  return {{"displayTimeUnit", "ms"},
          {"otherData", {{"ashlar", "live memory of a trace"}}},
          {"traceEvents", all.take()}};
}

}  // namespace ashlar::report
