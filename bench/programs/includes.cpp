// Input for the compiler proper: much of the standard library, and templates of it put to use.
// Preprocess it once (g++ -std=c++20 -E), then run cc1plus on the result.
#include <algorithm>
#include <any>
#include <array>
#include <chrono>
#include <complex>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N>
struct record {
  std::array<int, N> key;
  std::map<std::string, std::vector<int>> values;
  std::variant<int, std::string, std::vector<double>> kind;
  bool operator<(const record& other) const { return key < other.key; }
};

template <int N>
std::size_t work(const std::string& text) {
  std::vector<record<N>> records(N);
  for (auto& r : records) r.values[text].push_back(N);
  std::sort(records.begin(), records.end());
  std::unordered_map<std::string, std::deque<int>> index;
  for (const auto& r : records) {
    for (const auto& [name, values] : r.values) {
      index[name].insert(index[name].end(), values.begin(), values.end());
    }
  }
  auto lengths =
      index | std::views::transform([](const auto& entry) { return entry.second.size(); });
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{N});
}

std::size_t all_work(const std::string& text) {
  return work<1>(text) + work<2>(text) + work<3>(text) + work<4>(text) + work<5>(text) +
         work<6>(text);
}

bool matches(const std::string& text) {
  return std::regex_match(text, std::regex("([a-z]+)(\\d{1,3})?", std::regex::icase));
}
