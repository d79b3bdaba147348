// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/multisection.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

namespace rankwise::placement {
namespace {

struct Stopped : std::exception {};

// The part of a graph between some of its vertices.
class Part {
  public:
    explicit Part(const Graph &graph)
        : graph_(graph), local_(static_cast<std::size_t>(graph.vertices()), no_rank) {}

    Graph of(std::span<const Rank> members) {
        for (std::size_t i = 0; i < members.size(); ++i)
            local_[members[i]] = static_cast<Rank>(i);
        Graph part;
        part.offsets.reserve(members.size() + 1);
        for (const Rank v : members) {
            for (auto e = graph_.begin(v); e < graph_.end(v); ++e)
                if (const Rank u = local_[graph_.neighbour[e]]; u != no_rank) {
                    part.neighbour.push_back(u);
                    part.weight.push_back(graph_.weight[e]);
                }
            part.offsets.push_back(static_cast<std::int64_t>(part.neighbour.size()));
        }
        for (const Rank v : members)
            local_[v] = no_rank;
        return part;
    }

  private:
    const Graph &graph_;
    std::vector<Rank> local_;
};

class Sectioner {
  public:
    Sectioner(const Hierarchy &hierarchy, Random &random, std::int32_t tries, const Stop &stop,
              std::vector<Slot> &slot)
        : hierarchy_(hierarchy), random_(random), tries_(tries), stop_(stop), slot_(slot) {}

    // Places the vertices of `graph`, which are ranks `ranks`, on the slots from begin to end, one block of
    // `level`.
    void block(const Graph &graph, std::span<const Rank> ranks, Slot begin, Slot end, std::int32_t level) {
        if (ranks.empty())
            return;
        if (end - begin == 1 || level == hierarchy_.levels) {
            for (std::size_t i = 0; i < ranks.size(); ++i)
                slot_[ranks[i]] = begin + static_cast<Slot>(i);
            return;
        }
        std::vector<Slot> starts{begin};
        for (Slot slot = begin + 1; slot < end; ++slot)
            if (hierarchy_.level(slot - 1, slot) <= level)
                starts.push_back(slot);
        starts.push_back(end);
        while (starts.size() > 2 && starts[starts.size() - 2] - begin >= static_cast<Slot>(ranks.size()))
            starts.pop_back();
        children(graph, ranks, starts, level + 1);
    }

  private:
    void children(const Graph &graph, std::span<const Rank> ranks, std::span<const Slot> starts,
                  std::int32_t level) {
        if (stop_ && stop_())
            throw Stopped{};
        if (ranks.empty())
            return;
        if (starts.size() == 2) {
            block(graph, ranks, starts[0], starts[1], level);
            return;
        }
        const auto half = (starts.size() - 1) / 2;
        const std::int64_t n = static_cast<std::int64_t>(ranks.size());
        const std::int64_t left = starts[half] - starts[0], right = starts.back() - starts[half];
        const Balance balance{std::max<std::int64_t>(0, n - right), std::min(n, left)};
        const Cut cut = bisect(graph, balance, random_, tries_);
        std::vector<Rank> members[2];
        for (Rank v = 0; v < graph.vertices(); ++v)
            members[cut.side[v]].push_back(v);
        Part part(graph);
        for (const int side : {0, 1}) {
            std::vector<Rank> own(members[side].size());
            std::transform(members[side].begin(), members[side].end(), own.begin(),
                           [&](Rank v) { return ranks[v]; });
            const Graph below = part.of(members[side]);
            children(below, own, side == 0 ? starts.first(half + 1) : starts.subspan(half), level);
        }
    }

    const Hierarchy &hierarchy_;
    Random &random_;
    std::int32_t tries_;
    const Stop &stop_;
    std::vector<Slot> &slot_;
};

// Ranks by node, in rank order.
struct Members {
    std::vector<std::vector<Rank>> of;

    Members(const Hierarchy &hierarchy, std::span<const Slot> slot) {
        of.resize(static_cast<std::size_t>(*std::max_element(hierarchy.node.begin(), hierarchy.node.end())) +
                  1);
        for (std::size_t v = 0; v < slot.size(); ++v)
            of[hierarchy.node[slot[v]]].push_back(static_cast<Rank>(v));
    }
};

} // namespace

std::vector<Slot> multisect(const Graph &graph, const Hierarchy &hierarchy, Random &random,
                            std::int32_t tries, const Stop &stop) {
    std::vector<Slot> slot(static_cast<std::size_t>(graph.vertices()), -1);
    std::vector<Rank> ranks(slot.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    try {
        Sectioner(hierarchy, random, tries, stop, slot).block(graph, ranks, 0, hierarchy.count(), 0);
    } catch (const Stopped &) {
        slot.clear();
    }
    return slot;
}

void arrange_inside(const Graph &graph, const Hierarchy &hierarchy, std::int32_t level,
                    std::vector<Slot> &slot, std::span<const std::uint8_t> redo, Random &random,
                    std::int32_t tries) {
    const auto starts = blocks_of(hierarchy, level);
    std::vector<Rank> rank(static_cast<std::size_t>(hierarchy.count()), no_rank);
    for (std::size_t v = 0; v < slot.size(); ++v)
        rank[slot[v]] = static_cast<Rank>(v);
    Part part(graph);
    const Stop never;
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
        if (!redo.empty() && !redo[b])
            continue;
        std::vector<Rank> members;
        for (Slot s = starts[b]; s < starts[b + 1]; ++s)
            if (rank[s] != no_rank)
                members.push_back(rank[s]);
        std::sort(members.begin(), members.end());
        Sectioner(hierarchy, random, tries, never, slot)
            .block(part.of(members), members, starts[b], starts[b + 1], level);
    }
}

std::vector<std::uint8_t> exchange(const Graph &graph, const Hierarchy &hierarchy, std::vector<Slot> &slot,
                                   std::int32_t rounds, double work, const Stop &stop) {
    Members nodes(hierarchy, slot);
    const auto starts = blocks_of(hierarchy, 1);
    const auto count = nodes.of.size();
    std::vector<std::int32_t> home(slot.size());
    for (std::size_t v = 0; v < slot.size(); ++v)
        home[v] = hierarchy.node[slot[v]];
    std::vector<std::uint8_t> changed(count, 0), active(count, 1);
    Part part(graph);
    std::vector<Weight> tie(count, 0);
    std::vector<std::int32_t> near;
    bool stopped = false;
    double spent = 0;
    while (rounds-- > 0 && !stopped) {
        std::vector<std::uint8_t> next(count, 0);
        for (std::size_t a = 0; a < count && !stopped; ++a) {
            near.clear();
            for (const Rank v : nodes.of[a])
                for (auto e = graph.begin(v); e < graph.end(v); ++e) {
                    const auto b = home[graph.neighbour[e]];
                    if (static_cast<std::size_t>(b) <= a || !(active[a] || active[b]))
                        continue;
                    if (tie[b] == 0)
                        near.push_back(b);
                    tie[b] += graph.weight[e];
                }
            std::sort(near.begin(), near.end(),
                      [&](auto x, auto y) { return tie[x] != tie[y] ? tie[x] > tie[y] : x < y; });
            for (const auto b : near)
                tie[b] = 0;
            constexpr std::size_t most = 12; // the nodes a node talks to most
            for (std::size_t i = 0; i < std::min(near.size(), most); ++i) {
                const auto b = static_cast<std::size_t>(near[i]);
                if (spent > work * static_cast<double>(graph.neighbour.size()) || (stop && stop())) {
                    stopped = true;
                    break;
                }
                std::vector<Rank> both(nodes.of[a]);
                both.insert(both.end(), nodes.of[b].begin(), nodes.of[b].end());
                std::vector<std::uint8_t> side(both.size(), 1);
                std::fill_n(side.begin(), nodes.of[a].size(), std::uint8_t{0});
                // Ties to other nodes cross wherever a rank is, so the pair's own graph is enough.
                for (const Rank v : both)
                    spent += static_cast<double>(graph.end(v) - graph.begin(v));
                const Graph pair = part.of(both);
                const auto n = static_cast<std::int64_t>(both.size());
                const std::int64_t room_a = starts[a + 1] - starts[a], room_b = starts[b + 1] - starts[b];
                Cut cut = make_cut(pair, std::move(side));
                const Weight before = cut.weight;
                improve(pair, cut, {std::max<std::int64_t>(0, n - room_b), std::min(n, room_a)}, 3);
                if (cut.weight >= before)
                    continue;
                nodes.of[a].clear();
                nodes.of[b].clear();
                for (std::size_t k = 0; k < both.size(); ++k) {
                    const auto to = cut.side[k] == 0 ? a : b;
                    nodes.of[to].push_back(both[k]);
                    home[both[k]] = static_cast<std::int32_t>(to);
                }
                changed[a] = changed[b] = next[a] = next[b] = 1;
            }
        }
        active = std::move(next);
        if (std::none_of(active.begin(), active.end(), [](auto each) { return each != 0; }))
            break;
    }
    for (std::size_t a = 0; a < count; ++a)
        if (changed[a]) {
            std::sort(nodes.of[a].begin(), nodes.of[a].end());
            for (std::size_t i = 0; i < nodes.of[a].size(); ++i)
                slot[nodes.of[a][i]] = starts[a] + static_cast<Slot>(i);
        }
    return changed;
}

} // namespace rankwise::placement
