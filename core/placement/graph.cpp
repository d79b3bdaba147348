// SPDX-License-Identifier: BSD-3-Clause
#include "placement/graph.hpp"

#include <algorithm>
#include <string>

#include "error.hpp"

namespace rankwise::placement {
namespace {

struct Rows {
    std::vector<std::int64_t> offsets;
    std::vector<Rank> neighbour;
    std::vector<Weight> weight;
};

// Rows and columns exchanged; as rows are visited in order, the result's rows are sorted.
Rows transposed(std::span<const std::int64_t> offsets, std::span<const Rank> neighbour,
                std::span<const Weight> weight) {
    const auto n = offsets.size() - 1;
    Rows result{std::vector<std::int64_t>(n + 1, 0), std::vector<Rank>(neighbour.size()),
                std::vector<Weight>(neighbour.size())};
    for (const Rank v : neighbour)
        ++result.offsets[v + 1];
    for (std::size_t v = 0; v < n; ++v)
        result.offsets[v + 1] += result.offsets[v];
    std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    for (std::size_t v = 0; v < n; ++v)
        for (auto e = offsets[v]; e < offsets[v + 1]; ++e) {
            const auto at = next[neighbour[e]]++;
            result.neighbour[at] = static_cast<Rank>(v);
            result.weight[at] = weight[e];
        }
    return result;
}

} // namespace

std::string VertexNames::where(Rank v) const {
    if (lines.empty())
        return {};
    return "`" + std::string(file) + "` line " + std::to_string(lines[v]) + ": ";
}

Graph make_graph(std::span<const std::int64_t> offsets, std::span<const Rank> neighbour,
                 std::span<const Weight> weight, const VertexNames &names) {
    const auto name = [](std::int64_t number) { return "`" + std::to_string(number) + "`"; };
    const auto vertex = [&](Rank v) { return name(v + names.first); };
    if (offsets.empty() || offsets.front() != 0 ||
        offsets.back() != static_cast<std::int64_t>(neighbour.size()) || neighbour.size() != weight.size() ||
        !std::is_sorted(offsets.begin(), offsets.end()))
        throw Error("the rows of the graph do not fit its entries");
    const auto n = static_cast<Rank>(offsets.size()) - 1;
    double total = 0;
    for (Rank v = 0; v < n; ++v)
        for (auto e = offsets[v]; e < offsets[v + 1]; ++e) {
            if (neighbour[e] < 0 || neighbour[e] >= n)
                throw Error(names.where(v) + "vertex " + vertex(v) + " has the neighbour " +
                            vertex(neighbour[e]) + ", but there are " + name(n) + " vertices");
            if (neighbour[e] == v)
                throw Error(names.where(v) + "vertex " + vertex(v) + " is its own neighbour",
                            "leave messages to self out");
            if (weight[e] < 0)
                throw Error(names.where(v) + "the edge of vertices " + vertex(v) + " and " +
                            vertex(neighbour[e]) + " has the weight " + name(weight[e]));
            total += static_cast<double>(weight[e]);
        }
    if (total > 4e15)
        throw Error("the weights of the graph add up to more than 4e15",
                    "divide them all by a common factor");
    const Rows columns = transposed(offsets, neighbour, weight);
    Rows rows = transposed(columns.offsets, columns.neighbour, columns.weight);
    for (Rank v = 0; v < n; ++v) {
        auto row = rows.offsets[v], column = columns.offsets[v];
        for (; row < rows.offsets[v + 1] || column < columns.offsets[v + 1]; ++row, ++column) {
            const Rank to = row < rows.offsets[v + 1] ? rows.neighbour[row] : n;
            const Rank from = column < columns.offsets[v + 1] ? columns.neighbour[column] : n;
            if (to < from)
                throw Error(names.where(v) + "vertex " + vertex(v) + " has the neighbour " + vertex(to) +
                                ", but not the other way round",
                            "write each edge in the lines of both its ends");
            if (from < to)
                throw Error(names.where(from) + "vertex " + vertex(from) + " has the neighbour " + vertex(v) +
                                ", but not the other way round",
                            "write each edge in the lines of both its ends");
            if (rows.weight[row] != columns.weight[column])
                throw Error(names.where(v) + "the edge of vertices " + vertex(v) + " and " + vertex(to) +
                                " has the weights " + name(rows.weight[row]) + " and " +
                                name(columns.weight[column]),
                            "give an edge the same weight at both its ends");
            if (row > rows.offsets[v] && rows.neighbour[row - 1] == to)
                throw Error(names.where(v) + "vertex " + vertex(v) + " has the neighbour " + vertex(to) +
                                " twice",
                            "add the weights of edges between the same vertices up");
        }
    }
    return {std::move(rows.offsets), std::move(rows.neighbour), std::move(rows.weight), {}};
}

Graph renumbered(const Graph &graph, std::span<const Rank> order) {
    std::vector<Rank> number(order.size());
    Graph result;
    result.offsets.reserve(order.size() + 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
        number[order[i]] = static_cast<Rank>(i);
        result.offsets.push_back(result.offsets.back() + graph.end(order[i]) - graph.begin(order[i]));
    }
    result.neighbour.resize(graph.neighbour.size());
    result.weight.resize(graph.weight.size());
    std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
    // Written column by column, so that rows are in ascending order.
    for (std::size_t i = 0; i < order.size(); ++i)
        for (auto e = graph.begin(order[i]); e < graph.end(order[i]); ++e) {
            const auto at = next[number[graph.neighbour[e]]]++;
            result.neighbour[at] = static_cast<Rank>(i);
            result.weight[at] = graph.weight[e];
        }
    return result;
}

} // namespace rankwise::placement
