// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mappers/greedy.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <queue>

namespace rankwise::placement {
namespace {

struct Grower {
    const Hierarchy &hierarchy;
    const CommMatrix &matrix;
    Placement result;
    std::vector<double> gain;         // of a rank: what it saves by joining the group that grows
    std::vector<std::int32_t> member; // number of the set a rank belongs to at present
    std::int32_t sets = 0;

    double saving(std::size_t entry, std::int32_t level) const {
        const auto width = static_cast<std::size_t>(hierarchy.levels) + 1;
        const float *cost = &matrix.cost[entry * width];
        return static_cast<double>(cost[level]) - static_cast<double>(cost[level + 1]);
    }

    // Moves `size` ranks of `set` to the front of it, those that belong together.
    void take(std::span<Rank> set, std::size_t size, std::int32_t level) {
        const std::int32_t left = sets++, taken = sets++;
        for (const Rank r : set)
            member[static_cast<std::size_t>(r)] = left;
        Rank seed = set.front();
        double least = -1;
        for (const Rank r : set) {
            double inside = 0;
            for (auto e = matrix.offsets[static_cast<std::size_t>(r)];
                 e < matrix.offsets[static_cast<std::size_t>(r) + 1]; ++e)
                if (member[static_cast<std::size_t>(matrix.neighbour[static_cast<std::size_t>(e)])] == left)
                    inside += saving(static_cast<std::size_t>(e), level);
            gain[static_cast<std::size_t>(r)] = 0;
            if (least < 0 || inside < least) {
                least = inside;
                seed = r;
            }
        }
        using Entry = std::pair<double, Rank>;
        // Equal gains: the lower rank first, so that the result does not depend on the library's heap.
        auto later = [](const Entry &x, const Entry &y) {
            return x.first != y.first ? x.first < y.first : x.second > y.second;
        };
        std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
        std::size_t next_unconnected = 0;
        std::vector<Rank> group;
        const std::vector<Rank> order(set.begin(), set.end());
        queue.emplace(0.0, seed);
        while (group.size() < size) {
            Rank r = no_rank;
            while (!queue.empty() && r == no_rank) {
                const auto [value, candidate] = queue.top();
                queue.pop();
                if (member[static_cast<std::size_t>(candidate)] == left &&
                    value == gain[static_cast<std::size_t>(candidate)])
                    r = candidate;
            }
            while (r == no_rank) { // nothing connected is left: go on with the next in rank order
                const Rank candidate = order[next_unconnected++];
                if (member[static_cast<std::size_t>(candidate)] == left)
                    r = candidate;
            }
            member[static_cast<std::size_t>(r)] = taken;
            group.push_back(r);
            for (auto e = matrix.offsets[static_cast<std::size_t>(r)];
                 e < matrix.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
                const Rank other = matrix.neighbour[static_cast<std::size_t>(e)];
                if (member[static_cast<std::size_t>(other)] != left)
                    continue;
                gain[static_cast<std::size_t>(other)] += saving(static_cast<std::size_t>(e), level);
                queue.emplace(gain[static_cast<std::size_t>(other)], other);
            }
        }
        std::stable_partition(set.begin(), set.end(),
                              [&](Rank r) { return member[static_cast<std::size_t>(r)] == taken; });
    }

    // Places the ranks on the slots first .. last, which agree on their first `level` ids.
    void divide(std::span<Rank> set, std::span<const Slot> within, std::int32_t level) {
        assert(set.size() <= within.size());
        if (set.empty())
            return;
        if (level == hierarchy.levels || within.size() == 1) {
            for (std::size_t i = 0; i < set.size(); ++i)
                result.slot[static_cast<std::size_t>(set[i])] = within[i];
            return;
        }
        std::size_t begin = 0;
        while (begin < within.size() && !set.empty()) {
            std::size_t end = begin + 1;
            while (end < within.size() && hierarchy.level(within[begin], within[end]) > level)
                ++end;
            const std::size_t size = std::min(end - begin, set.size());
            if (size < set.size())
                take(set, size, level);
            divide(set.first(size), within.subspan(begin, end - begin), level + 1);
            set = set.subspan(size);
            begin = end;
        }
    }
};

} // namespace

Placement grow(const Hierarchy &hierarchy, const CommMatrix &matrix) {
    const auto n = static_cast<std::size_t>(matrix.ranks);
    Grower grower{hierarchy,
                  matrix,
                  {std::vector<Slot>(n, -1), {}},
                  std::vector<double>(n, 0),
                  std::vector<std::int32_t>(n, -1)};
    std::vector<Rank> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<Slot> all(static_cast<std::size_t>(hierarchy.count()));
    std::iota(all.begin(), all.end(), 0);
    grower.divide(ranks, all, 0);
    return make_placement(grower.result.slot, hierarchy.count());
}

} // namespace rankwise::placement
