// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "collectives/select.hpp"
#include "schedule/communicators.hpp"
#include "trace/event.hpp"
#include "trace/node_file.hpp"

namespace rankwise::replay {

/// A message of a neighbourhood collective.
struct Incoming {
    std::uint32_t source; ///< world rank
    std::uint64_t bytes;
};

/// @brief What is known of a traced run only after all ranks have been read once.
struct Survey {
    std::vector<std::vector<double>> on_core; ///< by rank and sample: the part of long gaps it had a core
    /// By rank: the part in which it slept of the time that it was off its core in gaps whose processor time
    /// is known.
    std::vector<double> slept;
    /// Bytes to each member, of the k-th alltoallv or alltoallw of a communicator, by member.
    std::unordered_map<std::uint64_t, std::vector<std::vector<std::uint64_t>>> sizes;
    /// By world rank: what comes to it in the k-th neighbourhood collective of a communicator, by source.
    std::vector<std::unordered_map<std::uint64_t, std::vector<Incoming>>> from_neighbours;
    /// By world rank: whether it posts receives of which only their end says what they took.
    std::vector<bool> posts_unknown;
    bool goes_by_nodes = false;   ///< some collective goes by who shares a node
    std::uint64_t operations = 0; ///< about how many a schedule would have

    static std::uint64_t key(std::uint32_t communicator, std::uint32_t k) {
        return std::uint64_t{communicator} << 32 | k;
    }
};

/// @brief Read all ranks once.
/// @param[in] ranks the first thread of each world rank, in order
Survey survey(std::span<const trace::ThreadRecord *const> ranks, const Communicators &communicators,
              collectives::Library library);

/// @return whether a computation may have been interrupted: the gaps between failed tests, summed up, are
/// many short ones
bool is_long(const trace::Event &event, double gap_s);

trace::Collective collective_of(std::uint16_t kind);

inline bool sizes_are_needed_of_all(std::uint16_t kind) {
    const trace::Collective collective = collective_of(kind);
    return collective == trace::Collective::alltoallv || collective == trace::Collective::alltoallw;
}

inline bool is_with_neighbours(std::uint16_t kind) {
    return collective_of(kind) >= trace::Collective::neighbor_allgather;
}

} // namespace rankwise::replay
