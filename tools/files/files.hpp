// tools/files/files.hpp: open files, a private folder that goes away with the command, and what is
// read as a whole. Layer: files. What a command writes where the user says: replaced_files.hpp.
#pragma once

#include <string>
#include <string_view>

namespace ashlar::files {

// An open descriptor, closed at the end.
class open_file {
 public:
  explicit open_file(int descriptor) : descriptor_(descriptor) {}
  ~open_file();
  open_file(open_file&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  open_file& operator=(open_file&&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// /dev/null for reading and writing. Throws: command_error.
open_file open_null();

// A folder of mode 0700 under TMPDIR (under /tmp where TMPDIR holds blanks or colons, which
// LD_PRELOAD cannot express). Its files are removed with it.
class scratch_directory {
 public:
  scratch_directory();  // throws: command_error
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  // A new file in it, open for reading and writing, without a name any more.
  [[nodiscard]] open_file make_unnamed_file() const;

 private:
  std::string path_;
};

// The contents of a file that the user named. Throws: command_error.
std::string read_input(const std::string& path);

// Effects: what a pipe brings goes into a file without a name, which is standard input from now on: so
// it can be read more than once. Returns: its path. Throws: command_error.
std::string standard_input_as_file();

// Everything from the file's start.
std::string read_whole(const open_file& file);

// Effects: writes all of the bytes, also where signals interrupt it. Returns: 0, or why it could
// not, as in errno.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes);

}  // namespace ashlar::files
