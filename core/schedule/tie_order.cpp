// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/tie_order.hpp"

#include <string>

#include "error.hpp"

namespace rankwise::replay {
namespace {

/// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// New numbers of ranks and of their operations.
class Renumbering {
  public:
    Renumbering(const Schedule &schedule, std::span<const std::uint32_t> position)
        : first(schedule.ranks() + 1), old_(schedule.first), position_(position),
          rank_at_(schedule.ranks(), any) {
        if (position.size() != schedule.ranks())
            throw Error("an order of `" + std::to_string(position.size()) + "` ranks for a program of `" +
                        std::to_string(schedule.ranks()) + "`");
        for (std::uint32_t r = 0; r < position.size(); ++r) {
            if (position[r] >= rank_at_.size() || rank_at_[position[r]] != any)
                throw Error("rank `" + std::to_string(r) + "` has no place of its own in the order of ranks");
            rank_at_[position[r]] = r;
        }
        for (std::uint32_t to = 0; to < rank_at_.size(); ++to)
            first[to + 1] = first[to] + old_[rank_at_[to] + 1] - old_[rank_at_[to]];
    }
    std::uint32_t rank(std::uint32_t old) const { return old == any ? any : position_[old]; }
    std::uint32_t operation(std::uint32_t old, std::uint32_t of_rank) const {
        return old == any ? any : old - old_[of_rank] + first[position_[of_rank]];
    }
    /// Calls `each(old, its rank)` for all operations in their new order.
    template <class Each> void for_operations(const Each &each) const {
        for (const std::uint32_t r : rank_at_)
            for (std::uint32_t op = old_[r]; op < old_[r + 1]; ++op)
                each(op, r);
    }

    std::vector<std::uint32_t> first; ///< operation of each new rank

  private:
    const std::vector<std::uint32_t> &old_;
    std::span<const std::uint32_t> position_;
    std::vector<std::uint32_t> rank_at_; ///< old number by new one
};

} // namespace

std::vector<std::uint64_t> rank_hashes(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
                                       std::span<const std::uint64_t> seed, unsigned rounds) {
    if (seed.size() != schedule.ranks())
        throw Error("`" + std::to_string(seed.size()) + "` seeds for `" + std::to_string(schedule.ranks()) +
                    "` ranks");
    std::vector<std::uint64_t> now(seed.begin(), seed.end()), before;
    for (unsigned round = 0; round < rounds; ++round) {
        before = now;
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            std::uint64_t hash = mixed(before[r] + round);
            for (std::uint32_t op = schedule.first[r]; op < schedule.first[r + 1]; ++op) {
                const MatchedOperation &each = steps[op];
                std::uint64_t own =
                    each.packed + (std::uint64_t{each.lane.cpu} << 32 | each.lane.nic) * 0x9E3779B9u;
                if (each.kind() != Kind::calc && each.peer != any)
                    own ^= before[each.peer];
                if (each.partner != any) // which of the other's operations
                    own += 0x9E3779B97F4A7C15u * (each.partner - schedule.first[each.peer]);
                if (round == 0) // whatever the order of an operation's edges
                    for (std::uint32_t e = schedule.edge_first[op]; e < schedule.edge_first[op + 1]; ++e)
                        own += mixed(2 * std::uint64_t{schedule.successors[e].target() - op} +
                                     (schedule.successors[e].at_start() ? 1 : 0));
                hash = mixed(hash + own);
            }
            now[r] = hash;
        }
    }
    return now;
}

std::pair<Schedule, Matching> renumbered(const Schedule &schedule, const Matching &matching,
                                         std::span<const std::uint32_t> position) {
    const Renumbering to(schedule, position);
    Schedule out = schedule;
    Matching matched = matching;
    out.first = to.first;
    std::uint32_t now = 0, edge = 0;
    to.for_operations([&](std::uint32_t op, std::uint32_t rank) {
        out.operations[now] = schedule.operations[op];
        if (schedule.operations[op].kind() != Kind::calc)
            out.operations[now].peer = to.rank(schedule.operations[op].peer);
        out.waits_for[now] = schedule.waits_for[op];
        if (!schedule.lanes.empty())
            out.lanes[now] = schedule.lanes[op];
        if (!schedule.origin.empty())
            out.origin[now] = schedule.origin[op];
        out.edge_first[now] = edge;
        for (std::uint32_t e = schedule.edge_first[op]; e < schedule.edge_first[op + 1]; ++e, ++edge) {
            const Successor next = schedule.successors[e];
            out.successors[edge].packed =
                to.operation(next.target(), rank) << 1 | static_cast<std::uint32_t>(next.at_start());
        }
        MatchedOperation &each = matched.steps[now];
        each = matching.steps[op];
        each.rank = to.rank(rank);
        if (each.kind() != Kind::calc) {
            each.partner = to.operation(each.partner, each.peer);
            each.peer = to.rank(each.peer);
        }
        ++now;
    });
    return {std::move(out), std::move(matched)};
}

} // namespace rankwise::replay
