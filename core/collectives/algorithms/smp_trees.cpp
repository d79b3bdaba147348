// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <numeric>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/node_partition.hpp"

// Cray MPICH 8: what goes to everyone, and what comes from everyone, goes over trees, one within each node
// and one between the first ranks of the nodes, both of radix 4 (MPICH_BCAST_INTRANODE_RADIX and
// MPICH_BCAST_INTERNODE_RADIX). Gathers are binomial, as MPICH's.
namespace rankwise::collectives {
namespace {

class Levels {
  public:
    Levels(const Operation &operation, Writer &writer) : operation_(operation), writer_(writer) {
        if (operation.nodes == nullptr) {
            node_.resize(operation.size);
            std::iota(node_.begin(), node_.end(), 0u);
            leaders_ = {0};
        } else {
            node_ = operation.nodes->neighbours(operation.rank);
            leaders_ = operation.nodes->leaders();
        }
    }

    bool is_leader() const { return node_.front() == operation_.rank; }
    std::uint32_t leader_of(std::uint32_t rank) const {
        return operation_.nodes == nullptr ? 0 : operation_.nodes->leader(rank);
    }
    /// Members of the nodes of some leaders, in their order.
    std::vector<std::uint32_t> on_nodes_of(std::span<const std::uint32_t> leaders) const {
        if (operation_.nodes == nullptr) {
            return node_;
        }
        std::vector<std::uint32_t> members;
        for (const std::uint32_t leader : leaders) {
            const auto &some = operation_.nodes->neighbours(leader);
            members.insert(members.end(), some.begin(), some.end());
        }
        return members;
    }

    void broadcast(std::uint64_t bytes, std::uint32_t root) {
        move(operation_.rank == root && !is_leader(), root, leader_of(root), bytes);
        if (is_leader()) {
            over(leaders_, Collective::bcast, bytes, leader_of(root));
        }
        over(node_, Collective::bcast, bytes, node_.front());
    }
    void reduce_to_first(std::uint64_t bytes) {
        over(node_, Collective::reduce, bytes, node_.front());
        if (is_leader()) {
            over(leaders_, Collective::reduce, bytes, leaders_.front());
        }
    }
    /// @brief Blocks of all to the first rank: those of a node to its first rank, then those of nodes.
    void gather_to_first(const Blocks &blocks) {
        gather(node_, blocks, [&](std::span<const std::uint32_t> some) {
            return std::vector<std::uint32_t>(some.begin(), some.end());
        });
        if (is_leader()) {
            gather(leaders_, blocks, [&](std::span<const std::uint32_t> some) { return on_nodes_of(some); });
        }
    }

  private:
    void move(bool sends, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
        if (sends) {
            writer_.send(to, bytes, 0);
        } else if (from != to && operation_.rank == to) {
            writer_.receive(from, bytes, 0);
        }
        writer_.next();
    }

    void over(const std::vector<std::uint32_t> &members, Collective collective, std::uint64_t bytes,
              std::uint32_t root) {
        std::vector<CollectiveStep> steps;
        Writer part(steps);
        const Operation inner = among_members(operation_, members, collective, bytes, root);
        if (inner.size < 2) {
            return;
        }
        if (collective == Collective::bcast) {
            broadcast_over(&knomial_tree, inner, part);
        } else {
            reduce_over(&ascending_knomial_tree, inner, part);
        }
        writer_.include(steps, members);
    }

    /// @param[in] ranks_of whose blocks some members have
    void gather(const std::vector<std::uint32_t> &members, const Blocks &blocks, auto &&ranks_of) {
        const auto size = static_cast<std::uint32_t>(members.size());
        const auto own = static_cast<std::uint32_t>(
            std::lower_bound(members.begin(), members.end(), operation_.rank) - members.begin());
        const TreeNode node = binomial_tree(own, size, 0);
        const auto piece = [&](std::uint32_t at, auto &&use) {
            const std::uint32_t full = at == 0 ? size : at & (~at + 1);
            const auto held = ranks_of(std::span(members).subspan(at, std::min(full, size - at)));
            std::uint64_t bytes = 0;
            for (const std::uint32_t rank : held) {
                bytes += blocks.bytes(rank, 1);
            }
            const bool is_whole = held.back() - held.front() + 1 == held.size();
            use(bytes, is_whole ? blocks.start(held.front()) : no_offset);
            writer_.next();
        };
        for (const auto child : node.children) {
            piece(child, [&](std::uint64_t bytes, std::uint64_t offset) {
                writer_.receive(members[child], bytes, offset);
            });
        }
        if (node.parent) {
            piece(own, [&](std::uint64_t bytes, std::uint64_t offset) {
                writer_.send(members[*node.parent], bytes, offset);
            });
        }
    }

    const Operation &operation_;
    Writer &writer_;
    std::vector<std::uint32_t> node_, leaders_;
};

} // namespace

void bcast_smp_tree(const Operation &operation, Writer &writer) {
    Levels(operation, writer).broadcast(operation.bytes, operation.root);
}

void allreduce_smp_tree(const Operation &operation, Writer &writer) {
    Levels levels(operation, writer);
    levels.reduce_to_first(operation.bytes);
    levels.broadcast(operation.bytes, 0);
}

void allgather_smp_gather_bcast(const Operation &operation, Writer &writer) {
    Levels levels(operation, writer);
    const auto blocks = Blocks::of(operation);
    levels.gather_to_first(blocks);
    levels.broadcast(blocks.total(), 0);
}

} // namespace rankwise::collectives
