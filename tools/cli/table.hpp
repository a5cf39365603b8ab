// tools/cli/table.hpp: rows of text lined up in columns. Layer: cli.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ashlar::cli {

enum class align { left, right };

struct column {
  // Implicit, so that a list of headings is a list of columns.
  column(std::string heading_text, align cells = align::right, std::string group_name = "")
      : heading(std::move(heading_text)), side(cells), group(std::move(group_name)) {}
  std::string heading;
  align side;
  std::string group;  // neighbours with one name share a caption line above their headings
};

class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

  // Requires: not more cells than columns; missing ones stay empty.
  void add_row(std::vector<std::string> cells);

  // Returns: the lines, each ended, without trailing blanks, `indent` blanks before each.
  [[nodiscard]] std::string render(std::size_t indent = 0) const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ashlar::cli
