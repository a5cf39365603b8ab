// tools/cli/manual_page.hpp: a command's manual page, from what its command line may say. Layer:
// cli.
#pragma once

#include <string>

#include "tools/cli/command_description.hpp"

namespace ashlar::cli {

// Returns: the file that has a command's page: "ashlar-run.1", and "ashlar.1" of the tool.
std::string manual_page_file(const tool_description& all, const command_description& of);

// Returns: the page in roff, for man. Requires: `of` is all.tool or one of all.commands.
std::string manual_page(const tool_description& all, const command_description& of);

}  // namespace ashlar::cli
