// tools/files/replaced_files.hpp: what a command writes into files that the user named, and a file
// beside its place until it is whole. Layer: files.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "tools/files/files.hpp"

namespace ashlar::files {

// While it lives, this thread is not interrupted: what is done meanwhile is done whole.
class signals_held_back {
 public:
  signals_held_back();
  ~signals_held_back();
  signals_held_back(const signals_held_back&) = delete;
  signals_held_back& operator=(const signals_held_back&) = delete;

 private:
  sigset_t before_{};
};

// A new file with a name that nothing else had. It goes away with the object, or with a process
// that a signal ends, unless it has taken its place by then. Requires: where threads make them, the
// signals are blocked, as by signal_watch.
class temporary_file {
 public:
  // Effects: makes it beside `place`. Throws: std::system_error.
  temporary_file(std::string place, mode_t mode);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Effects: the file has the place's name, and what had it before is gone. Throws:
  // std::system_error.
  void take_place();

 private:
  std::string place_;
  std::string name_;  // empty: it has the place's
  int descriptor_ = -1;
};

// Effects: from now on a file is replaced whatever is in it. (--force)
void replace_any_file();
[[nodiscard]] bool is_any_file_replaced();
// Returns: whether nothing is lost if something else is written there: the path has no file, an empty
// one, or one that ashlar has written.
[[nodiscard]] bool may_be_replaced(const std::string& path);
// The same of a kind of file that begins with `magic`, whether --force is there or not.
[[nodiscard]] bool may_be_replaced(const std::string& path, std::string_view magic);

// Files that are there whole or not at all. Contents go into temporary files beside the places;
// commit() gives them their names, all of them at the end. What a place held stays until then, and
// when an error or a signal ends the command. Devices and pipes are written as they are, and links
// stay links.
class replaced_files {
 public:
  // `inputs`: the names of the files that the command reads: none of them is to be written over.
  explicit replaced_files(std::vector<std::string> inputs = {}) : inputs_(std::move(inputs)) {}
  replaced_files(const replaced_files&) = delete;
  replaced_files& operator=(const replaced_files&) = delete;

  // Effects: finds out whether a file can be written there, which is no input and no other place of
  // these, and has nothing but what may_be_replaced(). One that `is_ours` is replaced whatever is in
  // it: an input, by what is made of it, or one that was written before. "-" is standard output.
  // Throws: command_error that names `option` and the path.
  void prepare(std::string_view option, const std::string& path, bool is_ours = false);
  // Whether one of them is standard output, which has no text then.
  [[nodiscard]] bool has_standard_output() const;
  // Effects: adds to the contents of a place, which are numbered from 0 in the order of prepare().
  // Throws: input_error.
  void write(std::size_t place_number, std::string_view bytes);
  // Effects: the places have the contents that were written. Throws: input_error.
  void commit();
  // The same for contents, one of each place, that are there as a whole.
  void commit(const std::vector<std::string>& contents);
  // The same where a program was run, of whose end the status tells. Returns: the status, even
  // where the contents cannot be written, as fail_beside() does. Throws: as that.
  int commit_beside(int status, const std::vector<std::string>& contents);

 private:
  struct place {
    std::string option;
    std::string path;    // as it was named
    std::string target;  // the file that it leads to; empty: no regular file
    std::unique_ptr<temporary_file> temporary;
    open_file device{-1};  // what is no regular file is written itself
  };
  [[nodiscard]] static int descriptor_of(const place& of);

  std::vector<std::string> inputs_;
  std::vector<place> places_;
};

}  // namespace ashlar::files
