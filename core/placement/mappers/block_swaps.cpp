// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/block_swaps.hpp"

#include <algorithm>

#include "placement/mapping_cost.hpp"
#include "placement/paths.hpp"

namespace rankwise::placement {
namespace {

// Blocks of each level that are tried: fewer of the wider ones, which hold more slots.
constexpr std::size_t blocks_tried(std::size_t narrower) {
    return narrower == 0 ? 2 : 1;
}
constexpr Slot largest_block = 1024; // larger ones are left to the levels below
// Ranks that talk to many times as many as others do cost more time to move than they save.
constexpr std::int64_t hub_times = 8, hub_least = 64;

class Swapper {
  public:
    Swapper(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
            std::vector<Slot> &slot, const SwapOptions &options)
        : graph_(graph), hierarchy_(hierarchy), distances_(distances), slot_(slot), options_(options),
          paths_(hierarchy, distances), path_(slot.size()),
          rank_(static_cast<std::size_t>(hierarchy.count()), no_rank), own_(slot.size()), least_(slot.size()),
          awake_(slot.size(), 1) {
        for (std::size_t v = 0; v < slot.size(); ++v) {
            rank_[slot[v]] = static_cast<Rank>(v);
            path_[v] = paths_.of(slot[v]);
        }
        for (std::int32_t level = 1; level < hierarchy.levels; ++level) {
            starts_.push_back(blocks_of(hierarchy, level));
            std::vector<std::int32_t> block(static_cast<std::size_t>(hierarchy.count()));
            for (std::size_t b = 0; b + 1 < starts_.back().size(); ++b)
                std::fill(block.begin() + starts_.back()[b], block.begin() + starts_.back()[b + 1],
                          static_cast<std::int32_t>(b));
            tie_.emplace_back(starts_.back().size(), 0.0);
            block_.push_back(std::move(block));
        }
        nearest_ = hierarchy.levels > 0 ? hierarchy.levels - 1 : 0;
        const double nearest = distances.of_level[nearest_];
        hub_ = graph.vertices() > 0 ? hub_least + hub_times * graph.offsets.back() / graph.vertices() : 0;
        for (Rank v = 0; v < graph.vertices(); ++v) {
            own_[v] = cost_at(v, slot[v], no_rank);
            for (auto e = graph.begin(v); e < graph.end(v); ++e)
                least_[v] += nearest * static_cast<double>(graph.weight[e]);
        }
        if (options.every > 1)
            for (std::uint32_t v = 0; v < awake_.size(); ++v)
                awake_[v] = (v * 2654435761U >> 8) % options.every == 0;
        if (options.most_on_node >= 0)
            node_weight_ = mapping_cost(graph, hierarchy, distances, slot).node_weight;
    }

    std::int64_t run() {
        std::int64_t swaps = 0;
        const double most = options_.work * static_cast<double>(graph_.neighbour.size());
        for (std::int32_t round = 0; round < options_.rounds; ++round) {
            const auto before = swaps;
            for (Rank v = 0; v < graph_.vertices(); ++v) {
                if (v % 256 == 0 && (spent_ > most || (options_.stop && options_.stop())))
                    return swaps;
                if (!awake_[v])
                    continue;
                awake_[v] = 0;
                if (own_[v] > least_[v] && !hub(v) && try_rank(v))
                    ++swaps;
            }
            if (swaps == before)
                break;
        }
        return swaps;
    }

  private:
    bool hub(Rank v) const { return graph_.end(v) - graph_.begin(v) > hub_; }

    // Distance-weighted sum of a rank's edges if it were on any slot of the smallest block of this one; edges
    // into the block have its distance.
    double cost_in_block(Rank v, Slot at) const {
        const Path path = paths_.of(at);
        const double most = distances_.of_level[nearest_];
        double cost = 0;
        for (auto e = graph_.begin(v); e < graph_.end(v); ++e) {
            const Path other = path_[graph_.neighbour[e]];
            cost +=
                static_cast<double>(graph_.weight[e]) * (other == path ? most : paths_.distance(path, other));
        }
        return cost;
    }

    // The same on this very slot, without the edge to `other`.
    double cost_at(Rank v, Slot at, Rank other) const {
        const Path path = paths_.of(at);
        double cost = 0;
        for (auto e = graph_.begin(v); e < graph_.end(v); ++e)
            if (const Rank u = graph_.neighbour[e]; u != other)
                cost += static_cast<double>(graph_.weight[e]) * paths_.distance(path, path_[u]);
        return cost;
    }

    double weight_between(Rank v, Rank u) const {
        const auto begin = graph_.neighbour.begin() + graph_.begin(v),
                   end = graph_.neighbour.begin() + graph_.end(v);
        const auto found = std::lower_bound(begin, end, u);
        return found != end && *found == u
                   ? static_cast<double>(graph_.weight[found - graph_.neighbour.begin()])
                   : 0;
    }

    bool try_rank(Rank v) {
        const Slot here = slot_[v];
        double best = -1e-9 * own_[v];
        Slot best_slot = -1;
        for (std::size_t level = block_.size(); level-- > 0;) {
            auto &tie = tie_[level];
            found_.clear();
            for (auto e = graph_.begin(v); e < graph_.end(v); ++e) {
                const auto b = block_[level][slot_[graph_.neighbour[e]]];
                if (b == block_[level][here])
                    continue;
                if (tie[b] == 0)
                    found_.push_back(b);
                tie[b] += static_cast<double>(graph_.weight[e]);
            }
            const auto tried = options_.thorough
                                   ? found_.size()
                                   : std::min(blocks_tried(block_.size() - 1 - level), found_.size());
            std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(tried),
                              found_.end(),
                              [&](auto x, auto y) { return tie[x] != tie[y] ? tie[x] > tie[y] : x < y; });
            for (const auto b : found_)
                tie[b] = 0;
            for (std::size_t i = 0; i < tried; ++i)
                try_block(v, starts_[level][found_[i]], starts_[level][found_[i] + 1], best, best_slot);
        }
        if (best_slot < 0)
            return false;
        carry_out(v, best_slot);
        return true;
    }

    void try_block(Rank v, Slot begin, Slot end, double &best, Slot &best_slot) {
        if (end - begin > largest_block)
            return;
        const Slot here = slot_[v];
        Slot last = -1;
        double change_v = 0;
        for (Slot there = begin; there < end; ++there) {
            const Rank w = rank_[there];
            if (last < 0 || paths_.level(paths_.of(last), paths_.of(there)) < nearest_) {
                change_v = cost_in_block(v, there) - own_[v];
                spent_ += static_cast<double>(graph_.end(v) - graph_.begin(v));
            }
            last = there;
            double change = change_v;
            if (w != no_rank) {
                // An edge between the two only adds to this, because it keeps its length.
                if (change_v + least_[w] - own_[w] >= best || hub(w))
                    continue;
                change += cost_at(w, here, v) - own_[w];
                spent_ += static_cast<double>(graph_.end(w) - graph_.begin(w));
                if (const double between = weight_between(v, w); between > 0)
                    change += between * (2 * paths_.distance(paths_.of(here), paths_.of(there)) -
                                         distances_.of_level[nearest_]);
            }
            if (change < best && allowed(v, w, here, there)) {
                best = change;
                best_slot = there;
            }
        }
    }

    void node_change(Rank rank, Slot from, Slot to, Rank other, double &at_from, double &at_to) const {
        for (auto e = graph_.begin(rank); e < graph_.end(rank); ++e) {
            const Rank u = graph_.neighbour[e];
            if (u == other)
                continue; // between the two nodes before and after
            const auto weight = static_cast<double>(graph_.weight[e]);
            const auto node = hierarchy_.node[slot_[u]];
            at_from += node == hierarchy_.node[from] ? weight : -weight;
            at_to += node == hierarchy_.node[to] ? -weight : weight;
        }
    }

    bool allowed(Rank v, Rank w, Slot here, Slot there) const {
        if (options_.most_on_node < 0 || hierarchy_.node[here] == hierarchy_.node[there])
            return true;
        double at_here = node_weight_[hierarchy_.node[here]], at_there = node_weight_[hierarchy_.node[there]];
        const double most = std::max({options_.most_on_node, at_here, at_there});
        node_change(v, here, there, w, at_here, at_there);
        if (w != no_rank)
            node_change(w, there, here, v, at_there, at_here);
        return std::max(at_here, at_there) <= most;
    }

    void carry_out(Rank v, Slot there) {
        const Slot here = slot_[v];
        const Rank w = rank_[there];
        if (!node_weight_.empty() && hierarchy_.node[here] != hierarchy_.node[there]) {
            node_change(v, here, there, w, node_weight_[hierarchy_.node[here]],
                        node_weight_[hierarchy_.node[there]]);
            if (w != no_rank)
                node_change(w, there, here, v, node_weight_[hierarchy_.node[there]],
                            node_weight_[hierarchy_.node[here]]);
        }
        rank_[here] = w;
        rank_[there] = v;
        moved(v, here, there, w);
        if (w != no_rank)
            moved(w, there, here, v);
        slot_[v] = there;
        path_[v] = paths_.of(there);
        if (w != no_rank) {
            slot_[w] = here;
            path_[w] = paths_.of(here);
        }
        own_[v] = cost_at(v, there, no_rank);
        if (w != no_rank)
            own_[w] = cost_at(w, here, no_rank);
    }

    // What its neighbours cost changes with a rank's slot, and they may gain by moving now.
    void moved(Rank rank, Slot from, Slot to, Rank other) {
        const Path before = paths_.of(from), after = paths_.of(to);
        awake_[rank] = 1;
        for (auto e = graph_.begin(rank); e < graph_.end(rank); ++e) {
            const Rank u = graph_.neighbour[e];
            awake_[u] = 1;
            if (u != other)
                own_[u] += static_cast<double>(graph_.weight[e]) *
                           (paths_.distance(after, path_[u]) - paths_.distance(before, path_[u]));
        }
    }

    const Graph &graph_;
    const Hierarchy &hierarchy_;
    const Distances &distances_;
    std::vector<Slot> &slot_;
    const SwapOptions &options_;
    std::int32_t nearest_ = 0; // levels that slots of one smallest block share
    std::int64_t hub_ = 0;
    double spent_ = 0; // edges looked at
    Paths paths_;
    std::vector<Path> path_; // of the slot of each rank
    std::vector<Rank> rank_;
    std::vector<double> own_, least_, node_weight_;
    std::vector<std::uint8_t> awake_;
    std::vector<std::vector<Slot>> starts_;        // of level 1, 2, ...
    std::vector<std::vector<std::int32_t>> block_; // of each slot
    std::vector<std::vector<double>> tie_;         // of the rank at hand to each block
    std::vector<std::int32_t> found_;
};

} // namespace

std::int64_t swap_in_blocks(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                            std::vector<Slot> &slot, const SwapOptions &options) {
    return Swapper(graph, hierarchy, distances, slot, options).run();
}

} // namespace rankwise::placement
