// SPDX-License-Identifier: BSD-3-Clause
#include "placement/bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "placement/mappers/renumbered_grids.hpp"

namespace rankwise::placement {
namespace {

using MatchedOperation = std::array<std::int64_t, 3>;

struct Kind {
    MatchedOperation step{};
    double heaviest = 0; // of its edges
    double total = 0;    // of all of them
};

// The kinds of steps that edges are in a grid; nothing if there are too many for it to be one.
std::vector<Kind> kinds_of_steps(const Graph &graph, const Extents &extents) {
    constexpr std::size_t most_kinds = 256;
    std::map<MatchedOperation, Kind> kinds;
    const auto coordinates = [&](std::int64_t v) {
        MatchedOperation at{};
        for (std::size_t i = 0; i < extents.size(); ++i) {
            at[i] = v % extents[i];
            v /= extents[i];
        }
        return at;
    };
    for (Rank v = 0; v < graph.vertices(); ++v) {
        const MatchedOperation from = coordinates(v);
        for (auto e = graph.begin(v); e < graph.end(v); ++e) {
            if (graph.neighbour[e] < v)
                continue;
            MatchedOperation step = coordinates(graph.neighbour[e]);
            for (std::size_t i = 0; i < step.size(); ++i)
                step[i] -= from[i];
            const auto first = std::find_if(step.begin(), step.end(), [](auto each) { return each != 0; });
            if (first != step.end() && *first < 0)
                for (auto &each : step)
                    each = -each;
            Kind &kind = kinds[step];
            kind.step = step;
            kind.heaviest = std::max(kind.heaviest, static_cast<double>(graph.weight[e]));
            kind.total += static_cast<double>(graph.weight[e]);
            if (kinds.size() > most_kinds)
                return {};
        }
    }
    std::vector<Kind> found;
    found.reserve(kinds.size());
    for (const auto &[step, kind] : kinds)
        found.push_back(kind);
    return found;
}

bool independent(const std::vector<const Kind *> &basis, const MatchedOperation &step) {
    const auto cross = [](const MatchedOperation &a, const MatchedOperation &b) {
        return MatchedOperation{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                                a[0] * b[1] - a[1] * b[0]};
    };
    if (basis.empty())
        return step != MatchedOperation{};
    if (basis.size() == 1)
        return cross(basis[0]->step, step) != MatchedOperation{};
    const MatchedOperation normal = cross(basis[0]->step, basis[1]->step);
    return normal[0] * step[0] + normal[1] * step[1] + normal[2] * step[2] != 0;
}

// Independent steps that are bounded together; each kind is in one of them at most.
class GridBound {
  public:
    GridBound(const Graph &graph, const Extents &extents) : vertices_(graph.vertices()) {
        const auto dimensions = static_cast<std::size_t>(
            std::count_if(extents.begin(), extents.end(), [](auto each) { return each > 1; }));
        auto kinds = kinds_of_steps(graph, extents);
        std::stable_sort(kinds.begin(), kinds.end(),
                         [](const Kind &a, const Kind &b) { return a.total > b.total; });
        std::vector<bool> used(kinds.size(), false);
        while (dimensions > 0) {
            std::vector<const Kind *> basis;
            std::vector<std::size_t> members;
            for (std::size_t i = 0; i < kinds.size() && basis.size() < dimensions; ++i)
                if (!used[i] && independent(basis, kinds[i].step)) {
                    basis.push_back(&kinds[i]);
                    members.push_back(i);
                }
            if (basis.size() < dimensions)
                break;
            Basis each{static_cast<double>(dimensions), 1, 0};
            for (const auto i : members) {
                used[i] = true;
                each.mean *= std::pow(kinds[i].heaviest, 1 / each.dimensions);
                each.missing += static_cast<double>(vertices_) * kinds[i].heaviest - kinds[i].total;
            }
            bases_.push_back(each);
        }
    }

    // Weight that at least leaves blocks of up to so many points.
    double leaving(double points) const {
        double sum = 0;
        for (const auto &basis : bases_)
            sum += std::max(0.0, static_cast<double>(vertices_) * basis.dimensions * basis.mean *
                                         std::pow(points, -1 / basis.dimensions) -
                                     basis.missing);
        return sum * (1 - 1e-12); // roots are rounded: a hair below is a bound for certain
    }

  private:
    struct Basis {
        double dimensions;
        double mean;    // geometric, of the weights
        double missing; // weight of the steps that lead out of the grid
    };
    Rank vertices_;
    std::vector<Basis> bases_;
};

// Weight that leaves the blocks of each level at least, by degrees; `size` is of the largest block of each.
// Either each edge counts half at both of its ends, or whole at the one with more edges: more, where hubs
// have most of them.
std::vector<double> leaving_by_degrees(const Graph &graph, const std::vector<std::int64_t> &size) {
    const auto degree = [&](Rank v) { return std::pair(graph.end(v) - graph.begin(v), v); };
    std::vector<double> halves(size.size(), 0), wholes(size.size(), 0);
    std::vector<Weight> heavy, owned;
    const auto add = [&](std::vector<Weight> &weights, double share, std::vector<double> &sum) {
        std::sort(weights.begin(), weights.end(), std::greater<>());
        for (std::size_t level = 0; level < size.size(); ++level)
            for (auto i = static_cast<std::size_t>(size[level] - 1); i < weights.size(); ++i)
                sum[level] += static_cast<double>(weights[i]) * share;
    };
    for (Rank v = 0; v < graph.vertices(); ++v) {
        heavy.assign(graph.weight.begin() + graph.begin(v), graph.weight.begin() + graph.end(v));
        owned.clear();
        for (auto e = graph.begin(v); e < graph.end(v); ++e)
            if (degree(v) > degree(graph.neighbour[e]))
                owned.push_back(graph.weight[e]);
        add(heavy, 0.5, halves);
        add(owned, 1, wholes);
    }
    for (std::size_t level = 0; level < size.size(); ++level)
        halves[level] = std::max(halves[level], wholes[level]);
    return halves;
}

} // namespace

double lower_bound(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                   const Extents &grid) {
    if (hierarchy.levels == 0 || graph.vertices() < 2)
        return 0;
    std::vector<std::int64_t> size; // of the largest block of level 1, 2, ...
    for (std::int32_t level = 1; level < hierarchy.levels; ++level) {
        const auto starts = blocks_of(hierarchy, level);
        size.push_back(0);
        for (std::size_t i = 0; i + 1 < starts.size(); ++i)
            size.back() = std::max<std::int64_t>(size.back(), starts[i + 1] - starts[i]);
    }
    auto leaving = leaving_by_degrees(graph, size);
    const auto take = [&](const Graph &numbered, const Extents &extents) {
        const GridBound bound(numbered, extents);
        for (std::size_t level = 0; level < size.size(); ++level)
            leaving[level] = std::max(leaving[level], bound.leaving(static_cast<double>(size[level])));
    };
    const auto suggested = grid.empty() ? suggested_grids(graph, 2) : std::vector<Extents>{grid};
    for (const auto &extents : suggested)
        take(graph, extents);
    constexpr double steps_of_grids = 4; // more than that apart, neighbours are not numbered as in a grid
    if (suggested.empty() || mean_steps(graph, suggested.front()) > steps_of_grids)
        if (const auto found = find_renumbered_grid(graph))
            take(renumbered(graph, found->order), found->extents);
    double total = 0;
    for (const auto weight : graph.weight)
        total += static_cast<double>(weight) / 2;
    double sum = total * distances.of_level[hierarchy.levels - 1];
    for (std::size_t level = 0; level < size.size(); ++level)
        sum += leaving[level] * (distances.of_level[level] - distances.of_level[level + 1]);
    return sum;
}

} // namespace rankwise::placement
