// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/node_partition.hpp"
#include "collectives/select.hpp"

// MPICH's compositions (its device ch4): a part within each node, a part among the first ranks of the nodes.
namespace rankwise::collectives {
namespace {

/// One rank's steps of an operation, part after part; without nodes each rank is one of its own.
class Composition {
  public:
    Composition(const Operation &operation, Writer &writer)
        : operation_(operation), nodes_(operation.nodes), writer_(writer) {
        if (nodes_ == nullptr) {
            alone_.push_back(operation.rank);
            for (std::uint32_t rank = 0; rank < operation.size; ++rank) {
                everyone_.push_back(rank);
            }
        }
    }

    std::uint32_t leader(std::uint32_t rank) const { return nodes_ == nullptr ? rank : nodes_->leader(rank); }
    std::uint32_t leader() const { return leader(operation_.rank); }
    bool is_leader() const { return leader() == operation_.rank; }
    bool is_with_root() const { return leader() == leader(operation_.root); }

    void within_node(Collective collective, std::uint64_t bytes, std::uint32_t root) {
        among(nodes_ == nullptr ? alone_ : nodes_->neighbours(operation_.rank), collective, bytes, root);
    }
    void among_leaders(Collective collective, std::uint64_t bytes, std::uint32_t root) {
        if (is_leader()) {
            among(nodes_ == nullptr ? everyone_ : nodes_->leaders(), collective, bytes, root);
        }
    }
    /// @brief The node's sum from its last rank to its first.
    void last_to_leader() {
        if (nodes_ != nullptr && nodes_->neighbours(operation_.rank).size() > 1) {
            move(nodes_->neighbours(operation_.rank).back(), leader());
        }
    }
    /// @brief What all nodes up to each have, from its first rank to that of the next one.
    void hand_on_among_leaders() {
        const auto &leaders = nodes_ == nullptr ? everyone_ : nodes_->leaders();
        if (!is_leader()) {
            return;
        }
        const auto own = std::lower_bound(leaders.begin(), leaders.end(), operation_.rank);
        if (own + 1 != leaders.end()) {
            writer_.send(*(own + 1), operation_.bytes, 0);
        }
        if (own != leaders.begin()) {
            writer_.receive(*(own - 1), operation_.bytes, 0);
        }
        writer_.next();
    }
    void move(std::uint32_t from, std::uint32_t to) {
        writer_.next();
        if (from != to && operation_.rank == from) {
            writer_.send(to, operation_.bytes, 0);
        }
        if (from != to && operation_.rank == to) {
            writer_.receive(from, operation_.bytes, 0);
        }
        writer_.next();
    }

  private:
    void among(const std::vector<std::uint32_t> &members, Collective collective, std::uint64_t bytes,
               std::uint32_t root) {
        if (members.size() < 2) {
            return;
        }
        std::vector<CollectiveStep> steps;
        Writer part(steps);
        const Operation inner = among_members(operation_, members, collective, bytes, root);
        select_mpich(inner).expand(inner, part);
        writer_.include(steps, members);
    }

    const Operation &operation_;
    const NodePartition *nodes_;
    Writer &writer_;
    std::vector<std::uint32_t> alone_, everyone_;
};

} // namespace

void bcast_composition_alpha(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    parts.move(operation.root, parts.leader(operation.root));
    parts.among_leaders(Collective::bcast, operation.bytes, parts.leader(operation.root));
    parts.within_node(Collective::bcast, operation.bytes, parts.leader());
}

void bcast_composition_beta(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    if (parts.is_with_root()) {
        parts.within_node(Collective::bcast, operation.bytes, operation.root);
    }
    parts.among_leaders(Collective::bcast, operation.bytes, parts.leader(operation.root));
    if (!parts.is_with_root()) {
        parts.within_node(Collective::bcast, operation.bytes, parts.leader());
    }
}

void reduce_composition_alpha(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    parts.within_node(Collective::reduce, operation.bytes, parts.leader());
    parts.among_leaders(Collective::reduce, operation.bytes, 0);
    parts.move(0, operation.root);
}

void reduce_composition_beta(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    if (!parts.is_with_root()) {
        parts.within_node(Collective::reduce, operation.bytes, parts.leader());
    }
    parts.among_leaders(Collective::reduce, operation.bytes, parts.leader(operation.root));
    if (parts.is_with_root()) {
        parts.within_node(Collective::reduce, operation.bytes, operation.root);
    }
}

void allreduce_composition_alpha(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    parts.within_node(Collective::reduce, operation.bytes, parts.leader());
    parts.among_leaders(Collective::allreduce, operation.bytes, 0);
    parts.within_node(Collective::bcast, operation.bytes, parts.leader());
}

// Nodes hold consecutive ranks, so what is before a rank is before it on its node, or on the nodes before.
void scan_composition_alpha(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    parts.within_node(Collective::scan, operation.bytes, parts.leader());
    parts.last_to_leader();
    parts.among_leaders(Collective::scan, operation.bytes, 0);
    parts.hand_on_among_leaders();
    // Whether there is anything from the nodes before, an int.
    parts.within_node(Collective::bcast, 4, parts.leader());
    if (parts.leader() != 0) {
        parts.within_node(Collective::bcast, operation.bytes, parts.leader());
    }
}

void barrier_composition_alpha(const Operation &operation, Writer &writer) {
    Composition parts(operation, writer);
    parts.within_node(Collective::barrier, 0, parts.leader());
    parts.among_leaders(Collective::barrier, 0, 0);
    parts.within_node(Collective::bcast, 1, parts.leader());
}

} // namespace rankwise::collectives
