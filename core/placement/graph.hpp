// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/problem.hpp"

namespace rankwise::placement {

using Weight = std::int64_t;

/// @brief Who talks to whom and how much, as an undirected graph in compressed rows, neighbours in ascending
/// order.
///
/// Neighbours of rank r are entries `offsets[r] .. offsets[r+1]`; each edge is an entry of both its ends,
/// with the same weight. `size` is the number of ranks a vertex stands for, empty if each stands for one.
struct Graph {
    std::vector<std::int64_t> offsets{0};
    std::vector<Rank> neighbour;
    std::vector<Weight> weight;
    std::vector<std::int32_t> size;

    Rank vertices() const noexcept { return static_cast<Rank>(offsets.size()) - 1; }
    std::int64_t edges() const noexcept { return offsets.back() / 2; }
    std::int32_t size_of(Rank v) const noexcept { return size.empty() ? 1 : size[v]; }
    std::int64_t begin(Rank v) const noexcept { return offsets[v]; }
    std::int64_t end(Rank v) const noexcept { return offsets[v + 1]; }
};

/// @brief Read a METIS graph: `vertices edges [format [constraints]]`, then a line a vertex; `%` starts a
/// comment.
///
/// Weights of vertices are read and left out, because every rank takes one core.
///
/// @throws Error naming the line, if the file breaks the format or an edge is not in both its lines alike
Graph read_metis(std::string_view text, std::string_view name);

/// @brief How errors name a vertex: where it stands in which file, and the number of the first.
struct VertexNames {
    std::string_view file;
    std::span<const std::int64_t> lines; ///< of each vertex; empty if it comes from no file
    Rank first = 0;

    /// @return "`file` line 7: ", or nothing
    std::string where(Rank v) const;
};

/// @brief A graph from compressed rows that somebody else made.
/// @throws Error naming the vertex, if the rows are not those of an undirected graph without loops
Graph make_graph(std::span<const std::int64_t> offsets, std::span<const Rank> neighbour,
                 std::span<const Weight> weight, const VertexNames &names = {});

/// @brief The graph with vertex order[i] as vertex i: vertices that follow one another are beside each other
/// in memory.
Graph renumbered(const Graph &graph, std::span<const Rank> order);

} // namespace rankwise::placement
