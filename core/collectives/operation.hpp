// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trace/calls.hpp"

namespace rankwise::collectives {

class NodePartition;

using trace::Collective;

enum class StepKind : std::uint8_t {
    send,
    receive,
    receive_reduce /* received data is combined with the own */
};

/// The data of a step is not one piece of the buffer (Bruck's alltoall), or there is none (barrier).
constexpr std::uint64_t no_offset = ~std::uint64_t{0};

/// @brief One message of a collective as one rank sees it.
///
/// Steps of one round are posted together; a round starts when all steps of the rounds before it have
/// completed. Sends to one peer, and receives from one peer, match in order.
struct CollectiveStep {
    StepKind kind;
    std::uint32_t peer;  // rank in the communicator
    std::uint32_t round; // 0, 1, 2, ...
    std::uint64_t bytes;
    /// First byte of the piece in the operation's buffer, which wraps round at its end. In rooted operations
    /// that gather or scatter (and in the scattering half of broadcasts), blocks lie in the order root, root
    /// + 1, ...
    std::uint64_t offset;
};

/// @brief A collective operation as one rank calls it. `bytes` is as in rw_collective_entry of
/// formats/recording.h.
struct Operation {
    Collective collective = Collective::none;
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint32_t root = 0;
    std::uint64_t bytes = 0;
    std::uint32_t element_bytes = 1;
    bool commutative = true;
    bool in_place = false;
    bool nonblocking = false;
    /// Sum of `bytes` over the ranks, for gatherv, scatterv, allgatherv and reduce_scatter; 0 where it is not
    /// known.
    std::uint64_t total_bytes = 0;
    /// v-variants: bytes of each rank's block (allgatherv, reduce_scatter, gatherv and scatterv at the root),
    /// or what is sent to each (alltoallv/w). Empty: blocks are taken to be equal.
    std::span<const std::uint64_t> sizes;
    /// alltoallv/w: what each sends to this rank; known to whoever has all ranks' calls. Empty: as `sizes`.
    std::span<const std::uint64_t> receive_sizes;
    /// Which ranks share a node, for algorithms that go by that; null: not known, or it does not matter.
    const NodePartition *nodes = nullptr;
};

/// @brief Another collective of some of an operation's ranks among themselves, as the same rank calls it.
/// @param[in] members their ranks, ascending; the operation's rank and `root` are among them
inline Operation among_members(const Operation &operation, std::span<const std::uint32_t> members,
                               Collective collective, std::uint64_t bytes, std::uint32_t root) {
    const auto place = [&](std::uint32_t rank) {
        return static_cast<std::uint32_t>(std::lower_bound(members.begin(), members.end(), rank) -
                                          members.begin());
    };
    Operation inner = operation;
    inner.collective = collective;
    inner.size = static_cast<std::uint32_t>(members.size());
    inner.rank = place(operation.rank);
    inner.root = place(root);
    inner.bytes = bytes;
    inner.nodes = nullptr;
    return inner;
}

/// @brief Where algorithms put their steps.
class Writer {
  public:
    explicit Writer(std::vector<CollectiveStep> &steps) : steps_(steps) {}

    void send(std::uint32_t peer, std::uint64_t bytes, std::uint64_t offset) {
        steps_.push_back({StepKind::send, peer, round_, bytes, offset});
    }
    void receive(std::uint32_t peer, std::uint64_t bytes, std::uint64_t offset) {
        steps_.push_back({StepKind::receive, peer, round_, bytes, offset});
    }
    void reduce(std::uint32_t peer, std::uint64_t bytes, std::uint64_t offset) {
        steps_.push_back({StepKind::receive_reduce, peer, round_, bytes, offset});
    }

    /// @brief Steps of some of the ranks among themselves, as rounds of their own.
    /// @param[in] members of a peer in these steps its rank
    void include(std::span<const CollectiveStep> steps, std::span<const std::uint32_t> members) {
        next();
        const std::uint32_t first = round_;
        for (const CollectiveStep &step : steps) {
            round_ = first + step.round;
            steps_.push_back({step.kind, members[step.peer], round_, step.bytes, step.offset});
        }
        next();
    }

    /// @brief Steps that are taken beside one another, round by round; their peers are ranks already.
    void include_together(std::span<const CollectiveStep> one, std::span<const CollectiveStep> other) {
        next();
        const std::uint32_t first = round_;
        auto mine = one.begin();
        auto theirs = other.begin();
        while (mine != one.end() || theirs != other.end()) {
            const bool is_mine = theirs == other.end() || (mine != one.end() && mine->round <= theirs->round);
            const CollectiveStep &step = is_mine ? *mine++ : *theirs++;
            round_ = first + step.round;
            steps_.push_back({step.kind, step.peer, round_, step.bytes, step.offset});
        }
        next();
    }

    /// @brief Begin the next round, unless this one is empty.
    void next() {
        if (!steps_.empty() && steps_.back().round == round_) {
            ++round_;
        }
    }

  private:
    std::vector<CollectiveStep> &steps_;
    std::uint32_t round_ = 0;
};

/// @brief Writes the steps of one rank.
using algorithm_fn = void (*)(const Operation &, Writer &);

struct Algorithm {
    std::string_view name;
    Collective collective;
    algorithm_fn expand;
};

} // namespace rankwise::collectives
