// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/bisection.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

namespace rankwise::placement {
namespace {

constexpr Rank few = 80; // vertices that are cut without joining any more
constexpr double least_progress = 0.9;
constexpr std::int32_t passes = 6;

// Grows side 0 from a vertex, always by the neighbour that is tied most to it.
Cut grown(const Graph &graph, const Balance &balance, Rank seed) {
    const auto n = graph.vertices();
    std::vector<std::uint8_t> side(static_cast<std::size_t>(n), 1);
    std::vector<Weight> tie(static_cast<std::size_t>(n), 0);
    using Entry = std::pair<Weight, Rank>;
    std::priority_queue<Entry> queue;
    const auto wanted = (balance.least + balance.most) / 2;
    std::int64_t first = 0;
    Rank next = seed;
    for (Rank seen = 0; first < wanted && seen < n; ++seen) {
        side[next] = 0;
        first += graph.size_of(next);
        for (auto e = graph.begin(next); e < graph.end(next); ++e)
            if (const Rank u = graph.neighbour[e]; side[u] == 1) {
                tie[u] += graph.weight[e];
                queue.emplace(tie[u], u);
            }
        next = no_rank;
        while (!queue.empty() && next == no_rank) {
            const auto [value, u] = queue.top();
            queue.pop();
            if (side[u] == 1 && value == tie[u])
                next = u;
        }
        for (Rank step = 1; next == no_rank && step <= n; ++step) // another component
            if (side[(seed + step) % n] == 1)
                next = (seed + step) % n;
        if (next == no_rank)
            break;
    }
    return make_cut(graph, std::move(side));
}

bool better(const Cut &a, const Cut &b, const Balance &balance) {
    const auto x = balance.violation(a.first), y = balance.violation(b.first);
    return x != y ? x < y : a.weight < b.weight;
}

// On graphs of joined vertices, no better balance than the largest of them can be asked for.
Balance widened(const Balance &balance, const Graph &graph) {
    std::int32_t largest = 1;
    for (const auto size : graph.size)
        largest = std::max(largest, size);
    return {balance.least - (largest - 1), balance.most + (largest - 1)};
}

Cut natural(const Graph &graph, const Balance &balance) {
    std::vector<std::uint8_t> side(static_cast<std::size_t>(graph.vertices()), 1);
    const auto wanted = (balance.least + balance.most) / 2;
    std::int64_t first = 0;
    for (Rank v = 0; v < graph.vertices() && first < wanted; ++v) {
        side[v] = 0;
        first += graph.size_of(v);
    }
    return make_cut(graph, std::move(side));
}

} // namespace

std::pair<std::vector<Rank>, Rank> match(const Graph &graph, std::int32_t largest, Random &random) {
    const auto n = graph.vertices();
    std::vector<Rank> group(static_cast<std::size_t>(n), no_rank), order(static_cast<std::size_t>(n));
    std::vector<Rank> waiting(static_cast<std::size_t>(n), no_rank);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random() % i]);
    Rank groups = 0;
    for (const Rank v : order) {
        if (group[v] != no_rank)
            continue;
        Rank partner = no_rank, heaviest = no_rank;
        double best = -1;
        Weight most = -1;
        for (auto e = graph.begin(v); e < graph.end(v); ++e) {
            const Rank u = graph.neighbour[e];
            if (graph.weight[e] > most) {
                most = graph.weight[e];
                heaviest = u;
            }
            if (group[u] != no_rank || graph.size_of(u) + graph.size_of(v) > largest)
                continue;
            // Equal weights: the pair of the smaller size, so that sizes grow alike.
            const double rating = static_cast<double>(graph.weight[e]) / graph.size_of(u);
            if (rating > best) {
                best = rating;
                partner = u;
            }
        }
        if (partner != no_rank) {
            group[v] = group[partner] = groups++;
            continue;
        }
        // All neighbours have a partner: join another that is left over beside the same neighbour.
        if (heaviest != no_rank && graph.size_of(v) * 2 <= largest) {
            Rank &other = waiting[heaviest];
            if (other != no_rank && graph.size_of(other) + graph.size_of(v) <= largest) {
                group[v] = group[other];
                other = no_rank;
                continue;
            }
            other = v;
        }
        group[v] = groups++;
    }
    return {std::move(group), groups};
}

Graph contracted(const Graph &graph, const std::vector<Rank> &group, Rank groups) {
    const auto n = graph.vertices();
    std::vector<Rank> first(static_cast<std::size_t>(groups) + 1, 0), members(static_cast<std::size_t>(n));
    for (Rank v = 0; v < n; ++v)
        ++first[group[v] + 1];
    for (Rank g = 0; g < groups; ++g)
        first[g + 1] += first[g];
    std::vector<Rank> next(first.begin(), first.end() - 1);
    for (Rank v = 0; v < n; ++v)
        members[next[group[v]]++] = v;
    Graph result;
    result.offsets.reserve(static_cast<std::size_t>(groups) + 1);
    result.size.assign(static_cast<std::size_t>(groups), 0);
    result.neighbour.reserve(graph.neighbour.size());
    result.weight.reserve(graph.neighbour.size());
    std::vector<std::int64_t> entry(static_cast<std::size_t>(groups), -1);
    for (Rank g = 0; g < groups; ++g) {
        const auto start = static_cast<std::int64_t>(result.neighbour.size());
        for (auto i = first[g]; i < first[g + 1]; ++i) {
            const Rank v = members[i];
            result.size[g] += graph.size_of(v);
            for (auto e = graph.begin(v); e < graph.end(v); ++e) {
                const Rank other = group[graph.neighbour[e]];
                if (other == g)
                    continue;
                if (entry[other] < start) {
                    entry[other] = static_cast<std::int64_t>(result.neighbour.size());
                    result.neighbour.push_back(other);
                    result.weight.push_back(graph.weight[e]);
                } else
                    result.weight[entry[other]] += graph.weight[e];
            }
        }
        result.offsets.push_back(static_cast<std::int64_t>(result.neighbour.size()));
    }
    return result;
}

Cut bisect(const Graph &graph, const Balance &balance, Random &random, std::int32_t tries) {
    struct Level {
        Graph graph;
        std::vector<Rank> group; // of the vertices of the level before
    };
    std::vector<Level> levels;
    const auto at = [&](std::size_t level) -> const Graph & {
        return level == 0 ? graph : levels[level - 1].graph;
    };
    std::int64_t total = 0;
    for (Rank v = 0; v < graph.vertices(); ++v)
        total += graph.size_of(v);
    const auto largest = static_cast<std::int32_t>(std::max<std::int64_t>(2, total * 2 / few));
    while (at(levels.size()).vertices() > few) {
        const Graph &fine = at(levels.size());
        auto [group, groups] = match(fine, largest, random);
        if (groups > least_progress * fine.vertices())
            break;
        Graph coarse = contracted(fine, group, groups);
        levels.push_back({std::move(coarse), std::move(group)});
    }
    const Graph &smallest = at(levels.size());
    const Balance wide = widened(balance, smallest);
    Cut best;
    for (std::int32_t i = 0; i < tries; ++i) {
        Cut cut = grown(smallest, wide,
                        static_cast<Rank>(random() % static_cast<std::uint64_t>(smallest.vertices())));
        improve(smallest, cut, wide, passes);
        if (i == 0 || better(cut, best, wide))
            best = std::move(cut);
    }
    for (auto level = levels.size(); level-- > 0;) {
        const Graph &fine = at(level);
        std::vector<std::uint8_t> side(static_cast<std::size_t>(fine.vertices()));
        for (Rank v = 0; v < fine.vertices(); ++v)
            side[v] = best.side[levels[level].group[v]];
        best.side = std::move(side);
        improve(fine, best, level == 0 ? balance : widened(balance, fine), passes);
    }
    Cut ordered = natural(graph, balance);
    if (ordered.weight <= best.weight + best.weight / 4)
        improve(graph, ordered, balance, passes);
    return better(ordered, best, balance) ? ordered : best;
}

} // namespace rankwise::placement
