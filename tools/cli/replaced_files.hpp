// tools/cli/replaced_files.hpp: files that are there whole or not at all. Layer: cli.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ashlar::cli {

// When contents reach the disk: some time, or before the file has its name, so that a machine that stops leaves the old
// contents or the new ones.
enum class reaches_disk { some_time, before_the_name };

// Contents go into temporary files beside the places; commit() gives them their names, all of them at the end. What a
// place held stays until then, and when an error ends the command. Devices and pipes are written as they are.
class replaced_files {
 public:
  replaced_files() = default;
  ~replaced_files();
  replaced_files(const replaced_files&) = delete;
  replaced_files& operator=(const replaced_files&) = delete;

  // Effects: finds out whether a file can be written there. Throws: command_error that names `option` and the path.
  void prepare(std::string_view option, const std::string& path);
  // Effects: writes the contents of the files in the order of prepare(), and names them. Throws: command_error.
  void commit(const std::vector<std::string>& contents,
              reaches_disk when = reaches_disk::some_time);

 private:
  struct place {
    std::string path;
    std::string temporary;  // empty: the path itself is written
    int descriptor;
  };
  std::vector<place> places_;
};

}  // namespace ashlar::cli
