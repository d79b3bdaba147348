// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/operation.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {

/// @brief Communicators by index, their members' world ranks one list behind the other.
struct Groups {
    std::span<const std::uint64_t> offsets; // one more than there are groups
    std::span<const std::uint32_t> members;

    std::span<const std::uint32_t> operator[](std::uint32_t group) const {
        return members.subspan(offsets[group], offsets[group + 1] - offsets[group]);
    }
};

/// @brief Collective calls with equal arguments, as one rank made them.
struct CollectiveCalls {
    std::uint32_t rank;  // in the communicator
    std::uint32_t group; // index into Groups
    std::uint16_t call;  // number of the MPI function
    std::uint16_t flags; // enum rw_collective_flag
    std::int32_t root;
    std::uint32_t datatype_bytes;
    std::uint64_t bytes, total_bytes;
    std::uint64_t count;
};

/// @brief Messages sent, one row for each (source, destination, call, algorithm, size bin); ranks are world
/// ranks.
struct MessageRows {
    std::vector<std::uint32_t> source, destination;
    std::vector<std::uint16_t> call, bin;
    std::vector<std::int32_t> algorithm; // index into `algorithms()`
    std::vector<std::uint64_t> messages, bytes;
    std::vector<std::int32_t> chosen; // for each of the calls: its algorithm, -1 if it was not expanded
};

/// @return the arguments of calls as an operation; `collective` is none for calls that are no collective
Operation to_operation(const CollectiveCalls &calls, std::uint32_t size);

/// @brief Count the messages the library sends for each rank's collective calls.
///
/// Not expanded are intercommunicators, and the calls whose messages only their caller knows and records one
/// by one (gatherv, scatterv, alltoallv, alltoallw, neighbourhood collectives).
/// @param[in] node of each world rank, only which are equal matters; empty: not known
/// @pre node is empty or has all members of the groups
MessageRows count_messages(Library library, std::span<const CollectiveCalls> calls, const Groups &groups,
                           std::span<const std::uint32_t> node = {});

} // namespace rankwise::collectives
