// The two formats, and which one an Accept header asks for. What a whole agent says: tests/agent.
#include "tools/agent/metrics_text.hpp"

#include <gtest/gtest.h>

namespace ashlar::agent {
namespace {

fleet_look one_process() {
  fleet_look look;
  look.processes.push_back(
      {.socket = {7, "/s"},
       .facts = {.comm = "a\"b\\c\nd", .service = "web", .version = "2", .cgroup = "/x"},
       .library = "0.1.0",
       .total = {},
       .tags = {{"x\"y", {.live_bytes = 70, .live_error_bytes = 8}}}});
  look.processes[0].total.allocations = 5;
  look.silent = 3;
  return look;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MetricsText, Prometheus) {
  const std::string text = metrics_text(one_process(), metrics_format::prometheus);
  EXPECT_TRUE(
      has(text,
          "# TYPE ashlar_heap_allocations_total counter\n"
          "ashlar_heap_allocations_total{pid=\"7\",comm=\"a\\\"b\\\\c\\nd\",service=\"web\","
          "version=\"2\",cgroup=\"/x\"} 5\n"))
      << text;
  EXPECT_TRUE(has(text, "\nashlar_agent_silent_processes 3\n"));
  EXPECT_TRUE(has(text, "cgroup=\"/x\",tag=\"x\\\"y\"} 70\n")) << text;
  EXPECT_TRUE(has(text, "# TYPE ashlar_tag_live_error_bytes gauge\nashlar_tag_live_error_bytes{"));
  EXPECT_FALSE(has(text, "# EOF"));
}

TEST(MetricsText, OpenMetrics) {
  const std::string text = metrics_text(one_process(), metrics_format::openmetrics);
  EXPECT_TRUE(has(text, "# TYPE ashlar_heap_allocations counter\nashlar_heap_allocations_total{"))
      << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(MetricsText, AcceptHeaders) {
  const auto is_open = [](const char* accept) {
    return preferred_format(accept) == metrics_format::openmetrics;
  };
  EXPECT_FALSE(is_open(""));
  EXPECT_FALSE(is_open("*/*"));
  EXPECT_FALSE(is_open("text/plain"));
  EXPECT_TRUE(is_open("application/openmetrics-text; version=1.0.0"));
  EXPECT_TRUE(
      is_open("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5,*/*;q=0.1"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=0.4,text/plain;q=0.5"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=0"));
  EXPECT_FALSE(is_open("application/openmetrics-text;q=x0,text/plain;q=2"));
}

}  // namespace
}  // namespace ashlar::agent
