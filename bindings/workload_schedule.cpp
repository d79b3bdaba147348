// SPDX-License-Identifier: BSD-3-Clause
#include "workload_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "collectives/registry.hpp"
#include "schedule/calls/call_chain.hpp"
#include "schedule/tags.hpp"

namespace coll = rankwise::collectives;
using rankwise::replay::CallChain;
using rankwise::replay::Operation;
using rankwise::replay::ScheduleBuilder;
using rankwise::replay::Tags;

namespace {

struct Group {
    std::uint32_t number = 0;           ///< 0 the world
    std::vector<std::uint32_t> members; ///< world ranks by rank in it
};

/// The communicators that splits and copies make. A split is called by all ranks, so where rank 0 has none,
/// nobody has.
class Groups {
  public:
    Groups(const workload &chosen, const problem &asked, int ranks)
        : of_rank_(static_cast<std::size_t>(ranks)) {
        all_.resize(1);
        all_[0].members.resize(static_cast<std::size_t>(ranks));
        std::iota(all_[0].members.begin(), all_[0].members.end(), 0u);
        for (int rank = 0; rank < ranks && (rank == 0 || !splits_.empty()); ++rank)
            comm_dry_run(
                &chosen, &asked, rank, ranks,
                [](void *self, int of, const comm_event *event) {
                    if (event->kind == COMM_EVENT_SPLIT || event->kind == COMM_EVENT_DUP)
                        static_cast<Groups *>(self)->splits_[{event->group, event->peer}].emplace_back(
                            event->tag, of);
                },
                this);
        for (auto &[which, keys] : splits_) {
            std::sort(keys.begin(), keys.end());
            Group group{static_cast<std::uint32_t>(all_.size()), {}};
            for (const auto &[key, rank] : keys) {
                group.members.push_back(static_cast<std::uint32_t>(rank));
                of_rank_[static_cast<std::size_t>(rank)][which.first] = all_.size();
            }
            all_.push_back(std::move(group));
        }
    }
    const Group &of(std::uint32_t rank, int group) const {
        return group == COMM_WORLD ? all_[0] : all_[of_rank_[rank].at(group)];
    }

  private:
    std::map<std::pair<int, int>, std::vector<std::pair<int, int>>>
        splits_; ///< (split, color) -> (key, rank)
    std::vector<Group> all_;
    std::vector<std::map<int, std::size_t>> of_rank_; ///< split -> which of all
};

coll::Collective collective_of(comm_event_kind kind) {
    switch (kind) {
    case COMM_EVENT_BARRIER:
        return coll::Collective::barrier;
    case COMM_EVENT_BCAST:
        return coll::Collective::bcast;
    case COMM_EVENT_REDUCE:
        return coll::Collective::reduce;
    case COMM_EVENT_ALLREDUCE:
        return coll::Collective::allreduce;
    case COMM_EVENT_ALLGATHER:
        return coll::Collective::allgather;
    case COMM_EVENT_ALLTOALL:
        return coll::Collective::alltoall;
    default:
        return coll::Collective::alltoallv;
    }
}

double seconds_of(const KernelTerms &terms, const comm_event &event, double parts) {
    const auto m = static_cast<double>(event.m), n = static_cast<double>(event.n) / parts,
               k = static_cast<double>(event.k);
    const KernelTerms sizes{1, m, n, k, m * n, m * k, n * k, m * n * k, m * m * n};
    return static_cast<double>(event.count) * parts *
           std::max(0.0, std::inner_product(terms.begin(), terms.end(), sizes.begin(), 0.0));
}

/// Puts one rank's events into the schedule.
class RankWriter {
  public:
    RankWriter(ScheduleBuilder &builder, Tags &tags, const Groups &groups, coll::Library library,
               const ComputationCost &cost, std::uint32_t rank)
        : chain_(builder, rank), tags_(tags), groups_(groups), library_(library), cost_(cost), rank_(rank) {}

    void write(const comm_event &event) {
        const auto peer = static_cast<std::uint32_t>(event.peer);
        const std::uint64_t bytes =
            static_cast<std::uint64_t>(event.count) * static_cast<std::uint64_t>(event.type_bytes);
        switch (event.kind) {
        case COMM_EVENT_SEND:
        case COMM_EVENT_SSEND:
            return chain_.send(peer, bytes, tag_of(event), event.kind == COMM_EVENT_SSEND);
        case COMM_EVENT_RECV:
            return chain_.receive(peer, bytes, tag_of(event));
        case COMM_EVENT_ISEND:
        case COMM_EVENT_ISSEND:
            return requests_.push_back(
                chain_.isend(peer, bytes, tag_of(event), event.kind == COMM_EVENT_ISSEND));
        case COMM_EVENT_IRECV:
        case COMM_EVENT_IRECV_ANY:
            return requests_.push_back(chain_.ireceive(peer, bytes, tag_of(event)));
        case COMM_EVENT_WAIT:
            return chain_.wait(requests_[static_cast<std::size_t>(event.request)]);
        case COMM_EVENT_RELAY_RECV:
            relayed_ = chain_.ireceive(peer, bytes, tag_of(event));
            return;
        case COMM_EVENT_RELAY_SEND:
            relayed_ = chain_.send_after(*relayed_, peer, bytes, tag_of(event));
            return;
        case COMM_EVENT_RELAY_END:
            if (relayed_)
                chain_.wait(*std::exchange(relayed_, std::nullopt));
            return;
        case COMM_EVENT_DIVIDE:
            // Where nothing is to be relayed, nothing is looked for.
            parts_ = relayed_ ? std::clamp<std::int64_t>(event.count, 1, Operation::whole) : 1;
            return chain_.divide(static_cast<std::uint32_t>(parts_), relayed_.value_or(0));
        case COMM_EVENT_COMPUTE:
            return chain_.compute(event.operations * cost_.seconds_per_operation);
        case COMM_EVENT_KERNEL:
            return parts_ == 1 ? chain_.compute(kernel(event, 1))
                               : chain_.compute_in_parts(kernel(event, parts_), kernel(event, 1));
        case COMM_EVENT_SPLIT:
        case COMM_EVENT_DUP:
        case COMM_EVENT_TIMER:
            return;
        default:
            return collective(event, bytes);
        }
    }
    std::uint32_t tag_of(const comm_event &event) {
        return tags_.number(groups_.of(rank_, event.group).number, event.tag);
    }
    void start(double seconds) { chain_.compute(seconds); }
    void end() { chain_.end(); }

  private:
    /// @param[in] parts that its columns are in
    double kernel(const comm_event &event, std::int64_t parts) const {
        const auto terms = cost_.kernels.find(event.peer);
        if (terms == cost_.kernels.end())
            return event.operations * cost_.seconds_per_operation;
        return seconds_of(terms->second.size() == 1 ? terms->second.front() : terms->second[rank_], event,
                          static_cast<double>(parts));
    }

    void collective(const comm_event &event, std::uint64_t bytes) {
        const Group &group = groups_.of(rank_, event.group);
        const auto each = static_cast<std::uint64_t>(event.type_bytes);
        std::vector<std::uint64_t> to, from;
        for (std::int64_t i = 0; event.kind == COMM_EVENT_ALLTOALLV && i < event.m; ++i) {
            to.push_back(static_cast<std::uint64_t>(event.to[i]) * each);
            from.push_back(static_cast<std::uint64_t>(event.from[i]) * each);
        }
        coll::Operation operation;
        operation.collective = collective_of(event.kind);
        operation.rank = static_cast<std::uint32_t>(
            group.number == 0
                ? rank_
                : std::find(group.members.begin(), group.members.end(), rank_) - group.members.begin());
        operation.size = static_cast<std::uint32_t>(group.members.size());
        operation.root = event.kind == COMM_EVENT_BCAST || event.kind == COMM_EVENT_REDUCE
                             ? static_cast<std::uint32_t>(event.peer)
                             : 0;
        operation.bytes = bytes;
        operation.element_bytes = std::max(1u, static_cast<std::uint32_t>(event.type_bytes));
        operation.sizes = to;
        operation.receive_sizes = from;
        steps_.clear();
        coll::expand(coll::select(library_, operation), operation, steps_);
        chain_.collective(steps_, group.members, tags_.collective(group.number));
    }

    CallChain chain_;
    Tags &tags_;
    const Groups &groups_;
    coll::Library library_;
    const ComputationCost &cost_;
    std::uint32_t rank_;
    std::vector<std::uint32_t> requests_;  ///< operations by number of the request
    std::int64_t parts_ = 1;               ///< of the computation that is being written
    std::optional<std::uint32_t> relayed_; ///< last operation of what is relayed
    std::vector<coll::CollectiveStep> steps_;
};

} // namespace

rankwise::replay::Schedule workload_schedule(const workload &chosen, const problem &asked, int ranks,
                                             coll::Library library, const ComputationCost &cost) {
    const Groups groups(chosen, asked, ranks);
    ScheduleBuilder builder(static_cast<std::uint32_t>(ranks));
    Tags tags;
    for (int rank = 0; rank < ranks; ++rank) {
        RankWriter writer(builder, tags, groups, library, cost, static_cast<std::uint32_t>(rank));
        if (!cost.start.empty())
            writer.start(cost.start[static_cast<std::size_t>(rank)]);
        comm_dry_run(
            &chosen, &asked, rank, ranks,
            [](void *to, int, const comm_event *event) { static_cast<RankWriter *>(to)->write(*event); },
            &writer);
        writer.end();
    }
    return builder.finish();
}
