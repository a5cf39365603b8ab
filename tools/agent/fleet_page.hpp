// tools/agent/fleet_page.hpp: what the agent's page shows, and what there is to scrape, as JSON.
// Layer: agent.
#pragma once

#include <string>
#include <string_view>

#include "tools/agent/fleet.hpp"

namespace ashlar::agent {

// The page itself (page/agent.html).
extern const std::string_view agent_page;

// Returns: the processes that have most in memory, at most 200, with their last hour.
[[nodiscard]] std::string fleet_json(const fleet_look& now, const fleet& all);

// Returns: where each process's profile is, at that address of this agent, as Prometheus's HTTP
// service discovery takes it. Readers of profiles know these labels, too.
[[nodiscard]] std::string targets_json(const fleet_look& now, const std::string& address);

// Returns: the call stacks of a profile with names that hold most, at most `rows`; empty where the
// bytes are no profile. The innermost call of a stack is the first.
[[nodiscard]] std::string sites_json(std::string_view profile, std::size_t rows);

}  // namespace ashlar::agent
