// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/grids.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace rankwise::placement {
namespace {

constexpr double most_edges = 50000; // more say nothing new about a grid

struct Edge {
    Rank from, to;
    double weight;
};

// All edges, or those of vertices that are scattered, if there are many.
std::vector<Edge> some_edges(const Graph &graph, double most) {
    const auto every = static_cast<std::uint32_t>(1 + static_cast<double>(graph.neighbour.size()) / most);
    std::vector<Edge> edges;
    for (Rank v = 0; v < graph.vertices(); ++v)
        if ((static_cast<std::uint32_t>(v) * 2654435761U >> 8) % every == 0)
            for (auto e = graph.begin(v); e < graph.end(v); ++e)
                edges.push_back({v, graph.neighbour[e], static_cast<double>(graph.weight[e])});
    return edges;
}

// How far apart neighbours are in a grid that wraps round: in steps, and in how many dimensions at all.
struct Apart {
    double steps = 0, dimensions = 0;
};

Apart apart(std::span<const Edge> edges, const Extents &extents) {
    Apart sum;
    for (const auto &edge : edges) {
        std::int64_t a = edge.from, b = edge.to;
        for (const auto extent : extents) {
            const auto steps = std::abs(a % extent - b % extent);
            sum.steps += edge.weight * static_cast<double>(std::min(steps, extent - steps));
            sum.dimensions += steps > 0 ? edge.weight : 0;
            a /= extent;
            b /= extent;
        }
    }
    return sum;
}

// Where parts that are as equal as can be begin.
std::int64_t part_start(std::int64_t extent, std::int64_t parts, std::int64_t part) {
    return extent * part / parts;
}

struct Walk {
    std::array<std::int64_t, 3> extent{1, 1, 1}, place{1, 1, 1};

    explicit Walk(const Extents &extents) {
        std::int64_t at = 1;
        for (std::size_t i = 0; i < extents.size(); ++i) {
            extent[i] = extents[i];
            place[i] = at;
            at *= extents[i];
        }
    }

    // Columns along dimension `along`, the other two cut into parts[0] x parts[1]; every turn goes back.
    std::vector<Rank> order(std::size_t along, std::array<std::int64_t, 2> parts) const {
        const std::size_t p = along == 0 ? 1 : 0, q = along == 2 ? 1 : 2;
        std::vector<Rank> found;
        found.reserve(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]));
        bool back_p = false, back_along = false;
        for (std::int64_t j = 0; j < parts[1]; ++j, back_p = !back_p)
            for (std::int64_t i = 0; i < parts[0]; ++i, back_along = !back_along) {
                const auto column = back_p ? parts[0] - 1 - i : i;
                const auto p0 = part_start(extent[p], parts[0], column),
                           p1 = part_start(extent[p], parts[0], column + 1);
                const auto q0 = part_start(extent[q], parts[1], j),
                           q1 = part_start(extent[q], parts[1], j + 1);
                for (std::int64_t step = 0; step < extent[along]; ++step) {
                    const auto a = back_along ? extent[along] - 1 - step : step;
                    for (auto y = q0; y < q1; ++y)
                        for (auto x = p0; x < p1; ++x) {
                            const auto turned = (y - q0) % 2 ? p1 - 1 - (x - p0) : x;
                            found.push_back(
                                static_cast<Rank>(a * place[along] + turned * place[p] + y * place[q]));
                        }
                }
            }
        return found;
    }
};

// Whole nodes of each group of `group` ranks first, what is left of the groups after them.
std::vector<Rank> rests_last(std::span<const Rank> order, std::int64_t group, std::int64_t node) {
    std::vector<Rank> whole, rest;
    const auto whole_part = group / node * node;
    for (std::size_t i = 0; i < order.size(); ++i)
        (static_cast<std::int64_t>(i) % group < whole_part ? whole : rest).push_back(order[i]);
    whole.insert(whole.end(), rest.begin(), rest.end());
    return whole;
}

class Best {
  public:
    Best(std::span<const Edge> edges, const Hierarchy &hierarchy) : edges_(edges), hierarchy_(hierarchy) {}

    void consider(std::span<const Rank> order) {
        std::vector<Slot> slot(order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            slot[order[i]] = static_cast<Slot>(i);
        double inside = 0;
        for (const auto &edge : edges_)
            if (hierarchy_.node[slot[edge.from]] == hierarchy_.node[slot[edge.to]])
                inside += edge.weight;
        if (inside > inside_) {
            inside_ = inside;
            slot_ = std::move(slot);
        }
    }

    std::vector<Slot> take() { return std::move(slot_); }

  private:
    std::span<const Edge> edges_;
    const Hierarchy &hierarchy_;
    double inside_ = -1;
    std::vector<Slot> slot_;
};

} // namespace

std::vector<Extents> suggested_grids(const Graph &graph, std::size_t most) {
    const std::int64_t n = graph.vertices();
    const auto edges = some_edges(graph, most_edges);
    std::vector<double> heard(static_cast<std::size_t>(n), 0);
    for (const auto &edge : edges)
        heard[static_cast<std::size_t>(std::abs(edge.from - edge.to))] += edge.weight;
    std::vector<std::int64_t> strides;
    for (std::int64_t stride = 2; stride < n; ++stride)
        if (n % stride == 0 && heard[static_cast<std::size_t>(stride)] > 0)
            strides.push_back(stride);
    constexpr std::size_t most_strides = 12;
    std::stable_sort(strides.begin(), strides.end(), [&](auto a, auto b) {
        return heard[static_cast<std::size_t>(a)] > heard[static_cast<std::size_t>(b)];
    });
    strides.resize(std::min(strides.size(), most_strides));
    std::vector<std::pair<Apart, Extents>> found;
    const auto add = [&](Extents extents) { found.emplace_back(apart(edges, extents), std::move(extents)); };
    for (const auto s : strides) {
        add({s, n / s});
        for (const auto t : strides)
            if (t > s && t % s == 0)
                add({s, t / s, n / t});
    }
    std::vector<Extents> grids;
    const auto take = [&](std::size_t number, auto value) {
        std::stable_sort(found.begin(), found.end(),
                         [&](const auto &a, const auto &b) { return value(a.first) < value(b.first); });
        for (std::size_t i = 0; i < std::min(number, found.size()); ++i)
            if (std::find(grids.begin(), grids.end(), found[i].second) == grids.end())
                grids.push_back(found[i].second);
    };
    take(most, [](const Apart &each) { return std::pair(each.steps, each.dimensions); });
    take(1, [](const Apart &each) { return std::pair(each.dimensions, each.steps); });
    return grids;
}

double mean_steps(const Graph &graph, const Extents &extents) {
    const auto edges = some_edges(graph, most_edges);
    double weight = 0;
    for (const auto &edge : edges)
        weight += edge.weight;
    return weight > 0 ? apart(edges, extents).steps / weight : 0;
}

std::vector<Slot> strips(const Graph &graph, const Hierarchy &hierarchy, const Extents &extents) {
    const auto edges = some_edges(graph, most_edges);
    const Walk walk(extents);
    const auto starts = blocks_of(hierarchy, 1);
    const std::int64_t node = starts[1];
    Best best(edges, hierarchy);
    for (std::size_t along = 0; along < extents.size(); ++along) {
        const std::size_t p = along == 0 ? 1 : 0, q = along == 2 ? 1 : 2;
        std::int64_t last_x = 0;
        for (std::int64_t x = 1; x <= std::min(node, walk.extent[p]); ++x) {
            const auto parts_p = (walk.extent[p] + x - 1) / x;
            if (parts_p == std::exchange(last_x, parts_p))
                continue;
            std::int64_t last_y = 0;
            for (std::int64_t y = 1; x * y <= node && y <= walk.extent[q]; ++y) {
                const auto parts_q = (walk.extent[q] + y - 1) / y;
                if (parts_q == std::exchange(last_y, parts_q))
                    continue;
                best.consider(walk.order(along, {parts_p, parts_q}));
            }
        }
        if (walk.extent[along] > node && walk.extent[along] % node != 0)
            best.consider(
                rests_last(walk.order(along, {walk.extent[p], walk.extent[q]}), walk.extent[along], node));
    }
    return best.take();
}

} // namespace rankwise::placement
