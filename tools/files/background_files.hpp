// tools/files/background_files.hpp: files that are replaced while other work goes on. Layer: files.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace ashlar::files {

// Writes by a thread of its own: a disk that stands still for a while does not stop the caller,
// whom others wait for. A file has its old contents or the new ones, also after the machine has
// stopped.
class background_files {
 public:
  background_files() = default;
  // Waits until all is written.
  ~background_files();
  background_files(const background_files&) = delete;
  background_files& operator=(const background_files&) = delete;

  // Effects: the file will have these contents. Those that still wait for the same file are
  // dropped. When it cannot be written, that is said on standard error, once for each file.
  void replace(const std::string& path, std::string contents);
  // Effects: waits until all is written. Returns: of each file whose last contents could not be
  // written, why.
  std::vector<std::string> finish();

 private:
  void write_what_comes();
  void end_writer();

  std::mutex lock_;
  std::condition_variable changed_;
  std::map<std::string, std::string> waiting_;  // path -> contents
  std::map<std::string, std::string>
      failures_;                   // path -> why the last try failed; empty: it did not
  std::set<std::string> written_;  // by this, so they are replaced
  bool is_last_ = false;
  std::thread writer_;  // from the first file on
};

}  // namespace ashlar::files
