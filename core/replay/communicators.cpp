// SPDX-License-Identifier: BSD-3-Clause
#include "replay/communicators.hpp"

#include <tuple>

namespace rankwise::replay {

Communicators::Communicators(std::span<const trace::ThreadRecord *const> ranks) {
    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::uint32_t> by_group;
    number_of_.resize(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (const trace::CommunicatorDefinition &own : ranks[rank]->communicators) {
            const rw_comm &comm = own.definition;
            // Every rank's MPI_COMM_SELF is another one, though it is the first with its group everywhere.
            const auto [found, is_new] =
                by_group.try_emplace(std::tuple(comm.group_hash, comm.instance, comm.size),
                                     static_cast<std::uint32_t>(all_.size()));
            if (is_new) {
                all_.emplace_back();
                all_.back().number = found->second;
            }
            Communicator &shared = all_[found->second];
            shared.is_inter |= comm.remote_size > 0;
            if (shared.members.empty() && !own.runs.empty())
                for (const rw_rank_run &run : own.runs)
                    for (std::uint32_t i = 0; i < run.count; ++i)
                        shared.members.push_back(static_cast<std::uint32_t>(
                            static_cast<std::int64_t>(run.first) + std::int64_t{run.stride} * i));
            auto &numbers = number_of_[rank];
            if (numbers.size() <= comm.index)
                numbers.resize(comm.index + std::size_t{1}, unknown);
            numbers[comm.index] = found->second;
        }
}

const Communicator *Communicators::find(std::uint32_t world_rank, std::uint32_t index) const {
    const auto &numbers = number_of_[world_rank];
    return index < numbers.size() && numbers[index] != unknown ? &all_[numbers[index]] : nullptr;
}

} // namespace rankwise::replay
