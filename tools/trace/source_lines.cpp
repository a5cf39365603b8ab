// tools/trace/source_lines.cpp. Layer: trace.
#include "tools/trace/source_lines.hpp"

#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "tools/trace/symbols.hpp"

#ifdef ASHLAR_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace ashlar::trace {
#ifdef ASHLAR_LIBDW

// The library's view of one file, at addresses of its own.
class source_lines::debug_information {
 public:
  explicit debug_information(const std::string& path) : all_(::dwfl_begin(&callbacks)) {
    if (all_ == nullptr) return;
    ::dwfl_report_begin(all_);
    file_ = ::dwfl_report_offline(all_, path.c_str(), path.c_str(), -1);
    ::dwfl_report_end(all_, nullptr, nullptr);
    GElf_Addr bias = 0;
    if (file_ != nullptr && ::dwfl_module_getelf(file_, &bias) != nullptr) bias_ = bias;
  }
  ~debug_information() {
    if (all_ != nullptr) ::dwfl_end(all_);
  }
  debug_information(const debug_information&) = delete;
  debug_information& operator=(const debug_information&) = delete;

  void add_line(std::uint64_t address, source_place& place) const {
    if (file_ == nullptr) return;
    Dwfl_Line* const line = ::dwfl_module_getsrc(file_, address + bias_);
    if (line == nullptr) return;
    int number = 0;
    const char* const name = ::dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
    if (name == nullptr || number <= 0) return;
    place.file = name;
    place.line = static_cast<std::uint32_t>(number);
  }

 private:
  static const Dwfl_Callbacks callbacks;
  Dwfl* all_;
  Dwfl_Module* file_ = nullptr;
  std::uint64_t bias_ = 0;
};

const Dwfl_Callbacks source_lines::debug_information::callbacks = {
    .find_elf = ::dwfl_build_id_find_elf,
    .find_debuginfo = ::dwfl_standard_find_debuginfo,
    .section_address = ::dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};
#endif

class source_lines::module {
 public:
  explicit module(const std::string& path)
      : lowest_(lowest_address(path)),
        functions_({{0, std::numeric_limits<std::uint64_t>::max(), 0, path}}),
        file_name_(std::filesystem::path(path).filename().string()) {
#ifdef ASHLAR_LIBDW
    // What is no file is not opened: a pipe waits.
    std::error_code none;
    if (std::filesystem::is_regular_file(path, none)) lines_.emplace(path);
#endif
  }

  [[nodiscard]] std::uint64_t call_before(std::uint64_t offset) const {
    return lowest_ + offset - 1;
  }

  source_place find(std::uint64_t offset) {
    const std::uint64_t address = call_before(offset);
    source_place place;
    const std::string name = functions_.name(address, false);
    const std::string behind = " in " + file_name_;
    if (name.ends_with(behind)) place.function = name.substr(0, name.size() - behind.size());
#ifdef ASHLAR_LIBDW
    if (lines_) lines_->add_line(address, place);
#endif
    return place;
  }

 private:
  std::uint64_t lowest_;
  symbol_finder functions_;
  std::string file_name_;
#ifdef ASHLAR_LIBDW
  std::optional<debug_information> lines_;
#endif
};

source_lines::source_lines() = default;
source_lines::~source_lines() = default;

bool source_lines::reads_lines() {
#ifdef ASHLAR_LIBDW
  return true;
#else
  return false;
#endif
}

source_lines::module& source_lines::open(const std::string& path) {
  std::unique_ptr<module>& there = modules_[path];
  if (there == nullptr) there = std::make_unique<module>(path);
  return *there;
}

source_place source_lines::find(const std::string& path, std::uint64_t offset) {
  return open(path).find(offset);
}
std::uint64_t source_lines::address_of_call(const std::string& path, std::uint64_t offset) {
  return open(path).call_before(offset);
}

}  // namespace ashlar::trace
