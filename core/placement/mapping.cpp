// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mapping.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "error.hpp"
#include "placement/bound.hpp"
#include "placement/mappers/block_swaps.hpp"
#include "placement/mappers/renumbered_grids.hpp"
#include "placement/mappers/tiling.hpp"

namespace rankwise::placement {
namespace {

constexpr double progress_worth =
    0.005;                           // a placement that swaps improve by less is taken for a pattern's own
constexpr double inside_worth = 0.1; // share of the weight inside nodes from which a numbering says something
constexpr Rank small = 8192;         // ranks up to which several seeds are quick
constexpr std::int32_t small_seeds = 4;
constexpr Rank large = 1 << 17; // ranks from which edges are looked at less often
// Restarts from the best with some ranks elsewhere: many where they are quick, none where cuts do better.
constexpr Rank kicks_for(Rank ranks) {
    return ranks <= 64 ? 64 : ranks <= 1024 ? 16 : 0;
}
constexpr double far_busier = 1.25;
constexpr double hopeless = 0.85;     // a sum this much less is out of reach of swaps
constexpr double steps_of_grids = 4;  // more than that apart, neighbours are not those of a grid
constexpr double probe_work = 8;      // of edges looked at in large graphs, as a multiple of all
constexpr double busier_worth = 0.01; // share of the sum that is worth a busier node

class Mapper {
  public:
    Mapper(const Graph &graph, const Hierarchy &hierarchy, std::span<const std::int32_t> arity,
           const Distances &distances, const MapOptions &options)
        : graph_(graph), hierarchy_(hierarchy), arity_(arity), distances_(distances), options_(options) {
        for (const auto weight : graph.weight)
            weight_ += static_cast<double>(weight) / 2;
    }

    std::vector<Mapped> run() {
        baselines();
        best_ = any_ = *best_known();
        most_ = best_.cost.busiest;
        bound_ = lower_bound(graph_, hierarchy_, distances_, options_.grid);
        bool regular = renumbered_grid();
        if (!regular)
            structured();
        if (!regular && !finished() && inside_share(best_) > inside_worth)
            regular = probe();
        const auto seeds = regular && !options_.until_stopped ? 0
                           : graph_.vertices() <= small       ? small_seeds
                                                              : 1;
        Random random(options_.seed);
        for (std::int32_t i = 0; (i < seeds || options_.until_stopped) && !finished(); ++i) {
            multilevel(options_.seed + static_cast<std::uint64_t>(i));
            for (Rank kicks = 0; kicks < kicks_for(graph_.vertices()) && !finished(); ++kicks)
                kick(random, kicks % 4 == 3);
        }
        const bool beaten = !options_.never_busier && any_.cost.total < best_.cost.total * hopeless;
        if (!finished() && !polished_ && !beaten)
            polish(best_);
        if (!options_.never_busier && any_.cost.total < best_.cost.total * (1 - busier_worth))
            best_ = std::move(any_);
        tried_.push_back(std::move(best_));
        return std::move(tried_);
    }

  private:
    bool stopped() const { return options_.stop && options_.stop(); }
    bool finished() const { return best_.cost.total <= bound_ || stopped(); }

    double inside_share(const Mapped &mapped) const {
        const double crossing =
            std::accumulate(mapped.cost.node_weight.begin(), mapped.cost.node_weight.end(), 0.0) / 2;
        return weight_ > 0 ? 1 - crossing / weight_ : 1;
    }

    Mapped scored(std::string name, std::vector<Slot> slot) const {
        auto cost = mapping_cost(graph_, hierarchy_, distances_, slot);
        return {std::move(name), std::move(slot), std::move(cost)};
    }

    void baselines() {
        std::vector<Slot> slot(static_cast<std::size_t>(graph_.vertices()));
        std::iota(slot.begin(), slot.end(), 0);
        tried_.push_back(scored("blocked", slot));
        tried_.push_back(scored("cyclic", cyclic()));
        for (const auto &given : options_.given)
            tried_.push_back(scored("given", make_placement(given, hierarchy_.count()).slot));
    }

    std::vector<Slot> cyclic() const {
        auto next = blocks_of(hierarchy_, 1);
        std::size_t used = 1; // no more nodes than are needed
        while (next[used] < graph_.vertices())
            ++used;
        const auto end = next;
        std::vector<Slot> slot(static_cast<std::size_t>(graph_.vertices()));
        std::size_t node = 0;
        for (auto &each : slot) {
            while (next[node] == end[node + 1])
                node = (node + 1) % used;
            each = next[node]++;
            node = (node + 1) % used;
        }
        return slot;
    }

    std::vector<Mapped>::const_iterator best_known() const {
        return std::min_element(tried_.begin(), tried_.end(),
                                [](const Mapped &a, const Mapped &b) { return a.cost.total < b.cost.total; });
    }

    void consider(Mapped candidate) {
        if (candidate.cost.total < any_.cost.total)
            any_ = candidate;
        if (candidate.cost.busiest > most_ || candidate.cost.total >= best_.cost.total)
            return;
        best_ = std::move(candidate);
        polished_ = false;
        if (options_.progress)
            options_.progress(best_.name, best_.cost);
    }

    void structured() {
        const auto n = static_cast<std::uint64_t>(graph_.vertices());
        std::vector<Extents> grids;
        if (!options_.grid.empty())
            grids.push_back(options_.grid);
        else if (n > 3)
            grids = suggested_grids(graph_, 2);
        if (!arity_.empty()) {
            if (std::has_single_bit(n) && n > 1) {
                const Extents all{static_cast<std::int64_t>(n)};
                if (auto tiling = tile_grid(graph_, arity_, distances_, all))
                    consider(scored("tiles", std::move(tiling->slot)));
            } else
                for (const auto &grid : grids) {
                    if (auto tiling = tile_grid(graph_, arity_, distances_, grid); tiling && !stopped())
                        consider(scored("tiles", std::move(tiling->slot)));
                }
        }
        if (best_.name == "tiles" || hierarchy_.levels < 1)
            return;
        for (const auto &grid : grids) {
            if (grid.size() < 2 || grid.size() > 3 || stopped())
                continue;
            if (graph_.vertices() > small && options_.grid.empty() && !options_.until_stopped &&
                mean_steps(graph_, grid) > steps_of_grids)
                continue;
            auto slot = strips(graph_, hierarchy_, grid);
            Random random(options_.seed);
            arrange_inside(graph_, hierarchy_, 1, slot, {}, random, 4);
            consider(scored("strips", std::move(slot)));
        }
    }

    // Places a grid whose ranks were numbered in some other order as if they were numbered well; true if it
    // is one.
    bool renumbered_grid() {
        if (!options_.grid.empty() || hierarchy_.levels < 1 || graph_.vertices() < 4)
            return false;
        const auto suggested = suggested_grids(graph_, 1);
        if (!suggested.empty() && mean_steps(graph_, suggested.front()) <= steps_of_grids)
            return false;
        const auto grid = find_renumbered_grid(graph_);
        if (!grid)
            return false;
        const Graph graph = renumbered(graph_, grid->order);
        MapOptions options = options_;
        options.grid = grid->extents;
        options.until_stopped = false;
        options.progress = nullptr;
        options.given.clear();
        const auto found = Mapper(graph, hierarchy_, arity_, distances_, options).run();
        std::vector<Slot> slot(grid->order.size());
        for (std::size_t i = 0; i < slot.size(); ++i)
            slot[grid->order[i]] = found.back().slot[i];
        consider(scored("grid, " + found.back().name, std::move(slot)));
        return true;
    }

    // Improves the best so far a little; true if there was next to nothing to improve. Some of the ranks are
    // enough to see that of large graphs.
    bool probe() {
        auto slot = best_.slot;
        const double before = best_.cost.total;
        const std::uint32_t every = graph_.vertices() <= small ? 1 : 8;
        swap(slot, {1, most_, work(probe_work), options_.stop, every});
        Mapped swapped = scored(refined(best_.name), std::move(slot));
        const bool regular = swapped.cost.total > before * (1 - progress_worth / every);
        consider(std::move(swapped));
        return regular;
    }

    void multilevel(std::uint64_t seed) {
        Random random(seed);
        auto slot = multisect(graph_, hierarchy_, random, graph_.vertices() <= small ? 4 : 2, options_.stop);
        if (slot.empty() && graph_.vertices() > 0)
            return;
        Mapped cut = scored("multisection", std::move(slot));
        if (options_.never_busier && cut.cost.busiest > most_ * far_busier)
            consider(std::move(cut)); // swaps do not bring a node that much below
        else
            polish(std::move(cut));
    }

    void swap(std::vector<Slot> &slot, const SwapOptions &options) const {
        std::vector<Rank> order(slot.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](Rank a, Rank b) { return slot[a] < slot[b]; });
        std::vector<Slot> sorted(slot.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            sorted[i] = slot[order[i]];
        swap_in_blocks(renumbered(graph_, order), hierarchy_, distances_, sorted, options);
        for (std::size_t i = 0; i < order.size(); ++i)
            slot[order[i]] = sorted[i];
    }

    // Graphs whose edges lead everywhere would keep exchange and swaps busy for long; enough for all others.
    double work(double multiple) const {
        return options_.until_stopped || graph_.vertices() <= small ? 1e18 : multiple;
    }
    double exchange_work() const { return work(60); }
    double swap_work() const { return work(graph_.vertices() <= large ? 200 : 60); }

    static std::string refined(const std::string &name) {
        constexpr auto suffix = ", refined";
        return name.ends_with(suffix) ? name : name + suffix;
    }

    // Starts again from the best with a few ranks elsewhere, or from all of them anywhere.
    void kick(Random &random, bool anywhere) {
        auto placement = make_placement(any_.slot, hierarchy_.count());
        const auto n = static_cast<std::uint64_t>(graph_.vertices());
        const auto moves = anywhere ? 2 * n : 2 + random() % 4;
        for (std::uint64_t i = 0; i < moves; ++i) {
            const auto rank = static_cast<Rank>(random() % n);
            const auto to = static_cast<Slot>(random() % static_cast<std::uint64_t>(hierarchy_.count()));
            const Slot from = placement.slot[rank];
            const Rank other = placement.rank[to];
            std::swap(placement.rank[from], placement.rank[to]);
            placement.slot[rank] = to;
            if (other != no_rank)
                placement.slot[other] = from;
        }
        const double most = options_.never_busier ? most_ : -1;
        swap(placement.slot, {8, most, swap_work(), options_.stop, 1, true});
        consider(scored("swaps", std::move(placement.slot)));
    }

    // Exchanges between nodes, then swaps.
    void polish(Mapped mapped) {
        auto slot = mapped.slot;
        const auto changed = exchange(graph_, hierarchy_, slot, 4, exchange_work(), options_.stop);
        if (std::any_of(changed.begin(), changed.end(), [](auto each) { return each != 0; })) {
            Random random(options_.seed);
            arrange_inside(graph_, hierarchy_, 1, slot, changed, random, 4);
            Mapped exchanged = scored(refined(mapped.name), std::move(slot));
            const bool allowed = exchanged.cost.busiest <= std::max(most_, mapped.cost.busiest);
            if (exchanged.cost.total < mapped.cost.total && (allowed || !options_.never_busier))
                mapped = std::move(exchanged);
        }
        consider(mapped);
        const double most = mapped.cost.busiest <= most_ ? most_
                            : options_.never_busier      ? mapped.cost.busiest
                                                         : -1;
        swap(mapped.slot,
             {8, most, swap_work(), options_.stop, 1, graph_.vertices() <= 1024 || options_.until_stopped});
        const double before = best_.cost.total;
        consider(scored(refined(mapped.name), std::move(mapped.slot)));
        polished_ = polished_ || best_.cost.total < before;
    }

    const Graph &graph_;
    const Hierarchy &hierarchy_;
    std::span<const std::int32_t> arity_;
    const Distances &distances_;
    const MapOptions &options_;
    double weight_ = 0;
    double most_ = 0; // weight of the busiest node in the best known placement
    double bound_ = 0;
    std::vector<Mapped> tried_;
    Mapped best_;           // of those whose busiest node has no more
    Mapped any_;            // of all
    bool polished_ = false; // whether best_ comes out of polish()
};

} // namespace

std::vector<Mapped> map_graph(const Graph &graph, const Hierarchy &hierarchy,
                              std::span<const std::int32_t> arity, const Distances &distances,
                              const MapOptions &options) {
    if (graph.vertices() > hierarchy.count())
        throw Error("`" + std::to_string(graph.vertices()) + "` ranks do not fit on `" +
                        std::to_string(hierarchy.count()) + "` cores",
                    "name a larger machine, for example with more nodes");
    return Mapper(graph, hierarchy, arity, distances, options).run();
}

} // namespace rankwise::placement
