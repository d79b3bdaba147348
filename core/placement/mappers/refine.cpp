// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/refine.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace rankwise::placement {
namespace {

// Gains below this share of the whole are rounding, not progress.
constexpr double least_gain = 1e-9;
constexpr std::size_t neighbours_tried = 6;
constexpr Slot neighbouring = 4;

class Partners {
  public:
    Partners(const Hierarchy &hierarchy, const CommMatrix &matrix, const RefineOptions &options)
        : hierarchy_(hierarchy), matrix_(matrix), options_(options), random_(options.seed) {}

    // The slots worth trying for a rank: beside its costliest neighbours, and a few anywhere.
    const std::vector<Slot> &of(Rank rank, const TimeEstimate &estimate) {
        const Placement &placement = estimate.placement();
        found_.clear();
        entries_.clear();
        const auto width = static_cast<std::size_t>(hierarchy_.levels) + 1;
        const Slot here = placement.slot[static_cast<std::size_t>(rank)];
        for (auto e = matrix_.offsets[static_cast<std::size_t>(rank)];
             e < matrix_.offsets[static_cast<std::size_t>(rank) + 1]; ++e) {
            const auto i = static_cast<std::size_t>(e);
            const Slot there = placement.slot[static_cast<std::size_t>(matrix_.neighbour[i])];
            const auto level = static_cast<std::size_t>(hierarchy_.level(here, there));
            const float now = matrix_.cost[i * width + level], best = matrix_.cost[i * width + width - 2];
            if (now > best)
                entries_.emplace_back(now - best, there);
        }
        const auto tried = std::min(entries_.size(), neighbours_tried);
        std::partial_sort(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(tried),
                          entries_.end(), [](const auto &x, const auto &y) {
                              return x.first != y.first ? x.first > y.first : x.second < y.second;
                          });
        for (std::size_t k = 0; k < tried; ++k)
            for (Slot step = 1; step <= neighbouring; ++step)
                for (const Slot slot : {entries_[k].second - step, entries_[k].second + step})
                    add(slot, here);
        add(estimate.interrupt_core_of(here), here);
        for (std::int32_t k = 0; k < options_.random_partners; ++k)
            add(static_cast<Slot>(random_() % static_cast<std::uint64_t>(hierarchy_.count())), here);
        return found_;
    }

    void shuffle(std::vector<Rank> &ranks) {
        // std::shuffle's use of the generator is not specified, and results must not depend on the library.
        for (std::size_t i = ranks.size(); i > 1; --i)
            std::swap(ranks[i - 1], ranks[random_() % i]);
    }

  private:
    void add(Slot slot, Slot here) {
        if (slot >= 0 && slot < hierarchy_.count() && slot != here)
            found_.push_back(slot);
    }

    const Hierarchy &hierarchy_;
    const CommMatrix &matrix_;
    const RefineOptions &options_;
    std::mt19937_64 random_;
    std::vector<Slot> found_;
    std::vector<std::pair<float, Slot>> entries_;
};

} // namespace

std::int64_t refine(TimeEstimate &estimate, const Hierarchy &hierarchy, const CommMatrix &matrix,
                    const RefineOptions &options) {
    Partners partners(hierarchy, matrix, options);
    const auto fixed = [&](Rank rank) {
        return !options.fixed.empty() && rank != no_rank && options.fixed[rank];
    };
    std::vector<Rank> order(static_cast<std::size_t>(matrix.ranks));
    std::iota(order.begin(), order.end(), 0);
    std::int64_t swaps = 0;
    for (std::int32_t round = 0; round < options.rounds; ++round) {
        const std::int64_t before = swaps;
        partners.shuffle(order);
        for (const Rank rank : order) {
            if (options.stop && options.stop())
                return swaps;
            if (fixed(rank))
                continue;
            const Slot here = estimate.placement().slot[static_cast<std::size_t>(rank)];
            Slot best = here;
            double change = -least_gain * estimate.value();
            for (const Slot slot : partners.of(rank, estimate)) {
                if (fixed(estimate.placement().rank[slot]) ||
                    (options.keep_nodes && hierarchy.node[slot] != hierarchy.node[here]))
                    continue;
                if (const double candidate = estimate.swap_change(here, slot); candidate < change) {
                    change = candidate;
                    best = slot;
                }
            }
            if (best != here) {
                estimate.swap(here, best);
                ++swaps;
            }
        }
        if (swaps == before)
            break;
    }
    return swaps;
}

} // namespace rankwise::placement
