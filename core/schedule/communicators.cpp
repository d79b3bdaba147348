// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/communicators.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rankwise::replay {
namespace {

/// What the recorder writes as `group_hash` for a group of these members.
std::uint64_t hash_of(std::span<const rw_rank_run> runs) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const rw_rank_run &run : runs)
        for (std::uint32_t i = 0; i < run.count; ++i) {
            const std::uint32_t member = run.first + static_cast<std::uint32_t>(run.stride) * i;
            for (unsigned shift = 0; shift < 32; shift += 8)
                hash = (hash ^ (member >> shift & 0xff)) * 0x100000001b3u;
        }
    return hash;
}

void take(std::span<const rw_rank_run> runs, std::vector<std::uint32_t> &members) {
    const auto outside = [](const rw_rank_run &run) { return run.first == RW_PEER_UNKNOWN; };
    if (!members.empty() || std::any_of(runs.begin(), runs.end(), outside))
        return;
    for (const rw_rank_run &run : runs)
        for (std::uint32_t i = 0; i < run.count; ++i)
            members.push_back(static_cast<std::uint32_t>(static_cast<std::int64_t>(run.first) +
                                                         std::int64_t{run.stride} * i));
}

} // namespace

std::uint32_t Communicator::rank_of(std::uint32_t world_rank) const {
    if (world_rank < members.size() && members[world_rank] == world_rank)
        return world_rank; // as in MPI_COMM_WORLD
    const auto found = std::find(members.begin(), members.end(), world_rank);
    return found == members.end() ? none : static_cast<std::uint32_t>(found - members.begin());
}

std::size_t Communicator::group_of(std::uint32_t world_rank) const {
    return std::find(groups[0].begin(), groups[0].end(), world_rank) != groups[0].end() ? 0 : 1;
}

Communicators::Communicators(std::span<const trace::ThreadRecord *const> ranks) {
    std::map<std::array<std::uint64_t, 4>, std::uint32_t> by_group;
    number_of_.resize(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> bridges;
        for (const trace::CommunicatorDefinition &own : ranks[rank]->communicators) {
            const rw_comm &comm = own.definition;
            // Every rank's MPI_COMM_SELF is another one, though it is the first with its group everywhere.
            std::array<std::uint64_t, 4> key{comm.group_hash, comm.instance, comm.size, 0};
            // The groups of an intercommunicator each count their own instances, but both make the
            // intercommunicators between them in one order.
            if (comm.remote_size > 0) {
                const std::pair<std::uint64_t, std::uint64_t> groups =
                    std::minmax({comm.group_hash, hash_of(own.remote_runs)});
                key = {groups.first, groups.second, bridges[groups]++, 1};
            }
            const auto [found, is_new] = by_group.try_emplace(key, static_cast<std::uint32_t>(all_.size()));
            if (is_new) {
                all_.emplace_back();
                all_.back().number = found->second;
            }
            Communicator &shared = all_[found->second];
            shared.is_inter |= comm.remote_size > 0;
            take(own.runs, shared.members);
            if (comm.remote_size > 0) {
                const std::size_t group = comm.group_hash == key[0] ? 0 : 1;
                take(own.runs, shared.groups[group]);
                take(own.remote_runs, shared.groups[1 - group]);
            }
            auto &numbers = number_of_[rank];
            if (numbers.size() <= comm.index)
                numbers.resize(comm.index + std::size_t{1}, unknown);
            numbers[comm.index] = found->second;
        }
    }
}

const Communicator *Communicators::find(std::uint32_t world_rank, std::uint32_t index) const {
    const auto &numbers = number_of_[world_rank];
    return index < numbers.size() && numbers[index] != unknown ? &all_[numbers[index]] : nullptr;
}

} // namespace rankwise::replay
