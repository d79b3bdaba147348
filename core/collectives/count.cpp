// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/count.hpp"

#include <map>
#include <tuple>
#include <unordered_map>

#include "collectives/node_partition.hpp"
#include "collectives/registry.hpp"
#include "recording.h"
#include "trace/size_bins.hpp"

namespace rankwise::collectives {
namespace {

struct Key {
    std::uint64_t ends; // source, destination
    std::uint64_t what; // call, bin, algorithm
    bool operator==(const Key &) const = default;
};

struct KeyHash {
    std::size_t operator()(const Key &key) const noexcept {
        // Multiplicative mixing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
        std::uint64_t mixed = (key.ends ^ (key.what * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
        return static_cast<std::size_t>(mixed ^ (mixed >> 31));
    }
};

bool is_recorded_one_by_one(Collective collective) {
    switch (collective) {
    case Collective::gatherv:
    case Collective::scatterv:
    case Collective::alltoallv:
    case Collective::alltoallw:
        return true;
    default:
        return collective >= Collective::neighbor_allgather;
    }
}

bool can_be_expanded(const CollectiveCalls &calls, const Operation &operation) {
    return operation.collective != Collective::none && !is_recorded_one_by_one(operation.collective) &&
           (calls.flags & RW_COLL_INTERCOMM) == 0 && calls.rank < operation.size &&
           operation.root < operation.size;
}

// Ranks of a communicator above which unequal blocks are taken to be equal: finding where each begins costs
// their cube.
constexpr std::size_t most_ranks_with_blocks = 256;

/// What each rank contributed to the allgatherv or reduce_scatter calls of one communicator that have one
/// sum: known where each rank names one size, and these add up.
class BlockSizes {
  public:
    BlockSizes(std::span<const CollectiveCalls> calls, const Groups &groups) {
        for (const auto &each : calls) {
            const std::size_t size = groups[each.group].size();
            if (each.total_bytes == 0 || size > most_ranks_with_blocks || each.rank >= size ||
                (each.flags & RW_COLL_INTERCOMM) != 0) {
                continue;
            }
            Sizes &sizes = found_[key(each)];
            sizes.of_rank.resize(size, unknown);
            std::uint64_t &own = sizes.of_rank[each.rank];
            sizes.one_each = sizes.one_each && (own == unknown || own == each.bytes);
            own = each.bytes;
        }
        for (auto &[call, sizes] : found_) {
            std::uint64_t sum = 0;
            for (const std::uint64_t bytes : sizes.of_rank) {
                sizes.one_each = sizes.one_each && bytes != unknown;
                sum += bytes;
            }
            sizes.one_each = sizes.one_each && sum == std::get<2>(call);
        }
    }

    /// @return bytes by rank, empty where they are not known
    std::span<const std::uint64_t> of(const CollectiveCalls &calls) const {
        const auto found = found_.find(key(calls));
        return found != found_.end() && found->second.one_each ? found->second.of_rank
                                                               : std::span<const std::uint64_t>{};
    }

  private:
    static constexpr std::uint64_t unknown = ~std::uint64_t{0};
    using Call = std::tuple<std::uint32_t, std::uint16_t, std::uint64_t>; // communicator, function, sum
    struct Sizes {
        std::vector<std::uint64_t> of_rank;
        bool one_each = true;
    };

    static Call key(const CollectiveCalls &calls) { return {calls.group, calls.call, calls.total_bytes}; }

    std::map<Call, Sizes> found_;
};

/// Which members of each communicator share a node, found when it is asked for.
class NodesOfGroups {
  public:
    NodesOfGroups(const Groups &groups, std::span<const std::uint32_t> node) : groups_(groups), node_(node) {}

    /// @return null if it is not known
    const NodePartition *of(std::uint32_t group) {
        if (node_.empty()) {
            return nullptr;
        }
        const auto found = partitions_.find(group);
        if (found != partitions_.end()) {
            return &found->second;
        }
        std::vector<std::uint32_t> of_members;
        for (const std::uint32_t member : groups_[group]) {
            of_members.push_back(node_[member]);
        }
        return &partitions_.emplace(group, NodePartition(of_members)).first->second;
    }

  private:
    const Groups &groups_;
    std::span<const std::uint32_t> node_;
    std::map<std::uint32_t, NodePartition> partitions_;
};

} // namespace

Operation to_operation(const CollectiveCalls &calls, std::uint32_t size) {
    Operation operation;
    const auto info = calls.call < trace::calls().size() ? trace::calls()[calls.call] : trace::CallInfo{};
    operation.collective = info.collective;
    operation.nonblocking = info.call_class == trace::CallClass::icollective;
    operation.rank = calls.rank;
    operation.size = size;
    operation.root = calls.root < 0 ? 0 : static_cast<std::uint32_t>(calls.root);
    operation.bytes = calls.bytes;
    operation.element_bytes = calls.datatype_bytes;
    operation.commutative = (calls.flags & RW_COLL_NONCOMMUTATIVE) == 0;
    operation.in_place = (calls.flags & RW_COLL_IN_PLACE) != 0;
    if (info.collective == Collective::allgatherv || info.collective == Collective::reduce_scatter) {
        operation.total_bytes = calls.total_bytes;
    }
    return operation;
}

MessageRows count_messages(Library library, std::span<const CollectiveCalls> calls, const Groups &groups,
                           std::span<const std::uint32_t> node) {
    MessageRows rows;
    std::unordered_map<Key, std::size_t, KeyHash> row_of;
    std::vector<CollectiveStep> steps;
    const Algorithm *const first = algorithms().data();
    const BlockSizes block_sizes(calls, groups);
    NodesOfGroups nodes(groups, node);
    for (const auto &each : calls) {
        const auto members = groups[each.group];
        Operation operation = to_operation(each, static_cast<std::uint32_t>(members.size()));
        if (operation.total_bytes > 0) {
            operation.sizes = block_sizes.of(each);
        }
        if (!can_be_expanded(each, operation)) {
            rows.chosen.push_back(-1);
            continue;
        }
        if (goes_by_nodes(library, operation.collective)) {
            operation.nodes = nodes.of(each.group);
        }
        const Algorithm &algorithm = select(library, operation);
        const auto index = static_cast<std::int32_t>(&algorithm - first);
        rows.chosen.push_back(index);
        expand(algorithm, operation, steps);
        for (const auto &step : steps) {
            if (step.kind != StepKind::send) {
                continue;
            }
            const std::uint32_t source = members[each.rank];
            const std::uint32_t destination = members[step.peer];
            const std::uint16_t bin = trace::size_bin(step.bytes);
            const Key key{std::uint64_t{source} << 32 | destination, std::uint64_t{each.call} << 48 |
                                                                         std::uint64_t{bin} << 32 |
                                                                         static_cast<std::uint32_t>(index)};
            const auto [found, added] = row_of.try_emplace(key, rows.source.size());
            if (added) {
                rows.source.push_back(source);
                rows.destination.push_back(destination);
                rows.call.push_back(each.call);
                rows.bin.push_back(bin);
                rows.algorithm.push_back(index);
                rows.messages.push_back(0);
                rows.bytes.push_back(0);
            }
            rows.messages[found->second] += each.count;
            rows.bytes[found->second] += each.count * step.bytes;
        }
    }
    return rows;
}

} // namespace rankwise::collectives
