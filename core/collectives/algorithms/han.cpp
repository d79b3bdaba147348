// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>

#include "collectives/algorithms.hpp"
#include "collectives/node_partition.hpp"
#include "collectives/select.hpp"

// Open MPI 5's component `han`: a part within each node and a part between ranks of different nodes, one of
// each, which have the same place on their nodes as the root. Long buffers go in pieces, so that the part of
// one piece within nodes is done while the next one travels between them.
namespace rankwise::collectives {
namespace {

constexpr std::uint64_t segment_bytes = 65536;

NodePartition each_alone(std::uint32_t size) {
    std::vector<std::uint32_t> node(size);
    std::iota(node.begin(), node.end(), 0);
    return NodePartition(node);
}

/// Steps of parts one after the other, until they are written.
struct Lane {
    std::vector<CollectiveStep> steps;
    Writer writer{steps};
};

class Han {
  public:
    /// @param[in] root its place on its node is that of the ranks that speak for theirs
    Han(const Operation &operation, std::uint32_t root, Writer &writer)
        : operation_(operation),
          nodes_(operation.nodes == nullptr ? each_alone(operation.size) : *operation.nodes),
          writer_(writer) {
        const auto &around = nodes_.neighbours(root);
        const auto place = std::find(around.begin(), around.end(), root) - around.begin();
        for (const std::uint32_t first : nodes_.leaders()) {
            const auto &node = nodes_.neighbours(first);
            // Nodes with fewer ranks: not taken there, but the steps are still those of an operation.
            speakers_.push_back(
                node[std::min<std::size_t>(static_cast<std::size_t>(place), node.size() - 1)]);
            if (node.front() == nodes_.leader(operation.rank)) {
                speaker_ = speakers_.back();
            }
        }
        std::sort(speakers_.begin(), speakers_.end());
    }

    std::uint64_t node_ranks() const { return nodes_.neighbours(operation_.rank).size(); }

    /// Pieces as Open MPI cuts them: whole elements, as many as come closest to its length.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces() const {
        const std::uint64_t element = std::max<std::uint32_t>(operation_.element_bytes, 1);
        std::uint64_t piece = operation_.bytes;
        if (segment_bytes >= element && segment_bytes < operation_.bytes) {
            piece = (segment_bytes + (element - 1) / 2) / element * element;
        }
        std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
        for (std::uint64_t start = 0; start < operation_.bytes; start += piece) {
            out.emplace_back(start, std::min(piece, operation_.bytes - start));
        }
        return out;
    }

    void within_node(Lane &lane, Collective collective, std::uint64_t bytes,
                     std::uint64_t start = no_offset) {
        among(lane, nodes_.neighbours(operation_.rank), collective, bytes, start, speaker_, false);
    }
    void between_nodes(Lane &lane, Collective collective, std::uint64_t bytes, std::uint32_t root,
                       std::uint64_t start = no_offset, bool nonblocking = false) {
        if (speaker_ == operation_.rank) {
            among(lane, speakers_, collective, bytes, start, root, nonblocking);
        }
    }
    void write(const Lane &one, const Lane &other = {}) { writer_.include_together(one.steps, other.steps); }

  private:
    void among(Lane &lane, const std::vector<std::uint32_t> &members, Collective collective,
               std::uint64_t bytes, std::uint64_t start, std::uint32_t root, bool nonblocking) {
        if (members.size() < 2) {
            return;
        }
        Operation inner = among_members(operation_, members, collective, bytes, root);
        inner.nonblocking = nonblocking;
        std::vector<CollectiveStep> steps;
        Writer part(steps);
        select_openmpi(inner).expand(inner, part);
        for (CollectiveStep &step : steps) {
            step.offset = step.offset == no_offset || start == no_offset ? no_offset : start + step.offset;
        }
        lane.writer.include(steps, members);
    }

    const Operation &operation_;
    NodePartition nodes_;
    Writer &writer_;
    std::vector<std::uint32_t> speakers_;
    std::uint32_t speaker_ = 0;
};

} // namespace

void bcast_han(const Operation &operation, Writer &writer) {
    Han parts(operation, operation.root, writer);
    const auto pieces = parts.pieces();
    for (std::size_t i = 0; i <= pieces.size(); ++i) {
        Lane up, low;
        if (i < pieces.size()) {
            parts.between_nodes(up, Collective::bcast, pieces[i].second, operation.root, pieces[i].first,
                                i > 0);
        }
        if (i > 0) {
            parts.within_node(low, Collective::bcast, pieces[i - 1].second, pieces[i - 1].first);
        }
        parts.write(up, low);
    }
}

void reduce_han(const Operation &operation, Writer &writer) {
    Han parts(operation, operation.root, writer);
    const auto pieces = parts.pieces();
    for (std::size_t i = 0; i <= pieces.size(); ++i) {
        Lane up, low;
        if (i > 0) {
            const auto &[start, bytes] = pieces[i - 1];
            parts.between_nodes(up, Collective::reduce, bytes, operation.root, start, true);
        }
        if (i < pieces.size()) {
            parts.within_node(low, Collective::reduce, pieces[i].second, pieces[i].first);
        }
        parts.write(up, low);
    }
}

void allreduce_han(const Operation &operation, Writer &writer) {
    Han parts(operation, 0, writer);
    const auto pieces = parts.pieces();
    // Piece i is reduced in nodes, then between them, then goes back both ways; pieces follow one another.
    for (std::size_t i = 0; i < pieces.size() + 3; ++i) {
        const auto is_piece = [&](std::size_t behind) { return i >= behind && i - behind < pieces.size(); };
        Lane up, low;
        if (is_piece(2)) {
            parts.between_nodes(up, Collective::bcast, pieces[i - 2].second, 0, pieces[i - 2].first, true);
        }
        if (is_piece(1)) {
            parts.between_nodes(up, Collective::reduce, pieces[i - 1].second, 0, pieces[i - 1].first, true);
        }
        if (is_piece(0)) {
            parts.within_node(low, Collective::reduce, pieces[i].second, pieces[i].first);
        }
        if (is_piece(3)) {
            parts.within_node(low, Collective::bcast, pieces[i - 3].second, pieces[i - 3].first);
        }
        parts.write(up, low);
    }
}

void gather_han(const Operation &operation, Writer &writer) {
    Han parts(operation, operation.root, writer);
    Lane lane;
    parts.within_node(lane, Collective::gather, operation.bytes);
    parts.between_nodes(lane, Collective::gather, operation.bytes * parts.node_ranks(), operation.root);
    parts.write(lane);
}

void scatter_han(const Operation &operation, Writer &writer) {
    Han parts(operation, operation.root, writer);
    Lane lane;
    parts.between_nodes(lane, Collective::scatter, operation.bytes * parts.node_ranks(), operation.root);
    parts.within_node(lane, Collective::scatter, operation.bytes);
    parts.write(lane);
}

void allgather_han(const Operation &operation, Writer &writer) {
    Han parts(operation, 0, writer);
    Lane lane;
    parts.within_node(lane, Collective::gather, operation.bytes);
    parts.between_nodes(lane, Collective::allgather, operation.bytes * parts.node_ranks(), 0);
    parts.within_node(lane, Collective::bcast, operation.bytes * operation.size);
    parts.write(lane);
}

void barrier_han(const Operation &operation, Writer &writer) {
    Han parts(operation, 0, writer);
    Lane lane;
    parts.within_node(lane, Collective::barrier, 0);
    parts.between_nodes(lane, Collective::barrier, 0, 0);
    parts.within_node(lane, Collective::barrier, 0);
    parts.write(lane);
}

} // namespace rankwise::collectives
