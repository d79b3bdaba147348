// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <random>

#include "placement/mappers/two_way.hpp"

namespace rankwise::placement {

using Random = std::mt19937_64;

/// @brief Cut a graph in two by multilevel bisection: join neighbours until few are left, cut these, and
/// improve the cut while they come apart again (Hendrickson and Leland, A multilevel algorithm for
/// partitioning graphs, SC 1995).
///
/// The first vertices in the graph's own order against the rest is tried as well, because ranks that were
/// numbered for a purpose often are next to those they talk to.
///
/// @param[in] tries first cuts of the smallest graph
Cut bisect(const Graph &graph, const Balance &balance, Random &random, std::int32_t tries);

/// @brief A graph whose vertices are groups of another's.
/// @param[in] group of each vertex; numbered from 0 to `groups` - 1
Graph contracted(const Graph &graph, const std::vector<Rank> &group, Rank groups);

/// @brief Pair neighbours along heavy edges.
/// @param[in] largest most ranks a pair may stand for
/// @return the group of each vertex, and the number of groups
std::pair<std::vector<Rank>, Rank> match(const Graph &graph, std::int32_t largest, Random &random);

} // namespace rankwise::placement
