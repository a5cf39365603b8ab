// tools/cli/table.cpp. Layer: cli.
#include "tools/cli/table.hpp"

#include <algorithm>
#include <stdexcept>

#include "tools/cli/text.hpp"

namespace ashlar::cli {

namespace {
constexpr std::size_t gap = 2;        // between columns
constexpr std::size_t group_gap = 4;  // between groups of columns

void append_padded(std::string& line, const std::string& cell, std::size_t width, align side) {
  const std::size_t used = display_width(cell);
  const std::size_t blanks = width > used ? width - used : 0;
  if (side == align::right) line.append(blanks, ' ');
  line += cell;
  if (side == align::left) line.append(blanks, ' ');
}

void end_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line;
  text += '\n';
}
}  // namespace

void table::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::logic_error("table: more cells than columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string table::render(std::size_t indent) const {
  const std::size_t count = columns_.size();
  std::vector<std::size_t> width(count);
  std::vector<std::size_t> before(count);  // blanks in front of the column
  for (std::size_t c = 0; c < count; ++c) {
    width[c] = display_width(columns_[c].heading);
    for (const auto& row : rows_) width[c] = std::max(width[c], display_width(row[c]));
    if (c > 0) before[c] = columns_[c].group == columns_[c - 1].group ? gap : group_gap;
  }

  // A caption wider than its columns widens the last of them.
  bool any_group = false;
  std::string captions(indent, ' ');
  for (std::size_t c = 0; c < count;) {
    std::size_t end = c + 1;
    std::size_t span = width[c];
    while (end < count && columns_[end].group == columns_[c].group) {
      span += before[end] + width[end];
      ++end;
    }
    const std::string& caption = columns_[c].group;
    if (display_width(caption) > span) {
      width[end - 1] += display_width(caption) - span;
      span = display_width(caption);
    }
    any_group = any_group || !caption.empty();
    captions.append(before[c], ' ');
    append_padded(captions, caption, span, align::left);
    c = end;
  }

  std::string text;
  if (any_group) end_line(text, captions);
  const auto add_line = [&](auto cell_of) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < count; ++c) {
      line.append(before[c], ' ');
      append_padded(line, cell_of(c), width[c], columns_[c].side);
    }
    end_line(text, std::move(line));
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].heading; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  }
  return text;
}

}  // namespace ashlar::cli
