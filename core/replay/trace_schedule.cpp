// SPDX-License-Identifier: BSD-3-Clause
#include "replay/trace_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "collectives/registry.hpp"
#include "error.hpp"
#include "replay/collective_steps.hpp"
#include "replay/communicators.hpp"
#include "replay/rank_program.hpp"
#include "replay/tags.hpp"
#include "trace/event_reader.hpp"

namespace rankwise::replay {
namespace {

using collectives::Collective;
using trace::CallClass;
using trace::Event;

/// A gap shorter than this was not interrupted: no scheduler lets another thread run for less than about
/// this.
constexpr double shortest_interruption_s = 1e-3;

/// Between failed tests a program either does something else or spins; below this per test it spins.
constexpr double spinning_gap_s = 1e-6;

Collective collective_of(std::uint16_t kind) {
    return kind < trace::calls().size() ? trace::calls()[kind].collective : Collective::none;
}

/// How a send ends, which its name says.
enum class Mode : std::uint8_t { standard, synchronous, buffered, flush };

Mode mode_of(std::uint16_t kind) {
    static const std::vector<Mode> modes = [] {
        std::vector<Mode> of_kind;
        for (const auto &call : trace::calls()) {
            const auto is = [&](std::string_view name) { return call.name.starts_with(name); };
            of_kind.push_back(is("MPI_Ssend") || is("MPI_Issend") ? Mode::synchronous
                              : is("MPI_Bsend") || is("MPI_Ibsend") ? Mode::buffered
                              : is("MPI_Buffer_detach") || is("MPI_Buffer_flush") ? Mode::flush
                                                                                 : Mode::standard);
        }
        return of_kind;
    }();
    return kind < modes.size() ? modes[kind] : Mode::standard;
}

bool sizes_are_needed_of_all(std::uint16_t kind) {
    return collective_of(kind) == Collective::alltoallv || collective_of(kind) == Collective::alltoallw;
}

bool is_with_neighbours(std::uint16_t kind) {
    return collective_of(kind) >= Collective::neighbor_allgather;
}

/// The gaps between failed tests are many short ones, summed up.
bool is_long(const Event &event, double gap_s) {
    return gap_s >= shortest_interruption_s && event.call_class != CallClass::poll;
}

/// A message of a neighbourhood collective.
struct Incoming {
    std::uint32_t source; ///< world rank
    std::uint64_t bytes;
};

/// What is known only after all ranks have been read once.
struct Survey {
    std::vector<std::vector<double>> on_core; ///< by rank and sample, as `on_core_parts`
    /// Bytes to each member, of the k-th alltoallv or alltoallw of a communicator, by member.
    std::unordered_map<std::uint64_t, std::vector<std::vector<std::uint64_t>>> sizes;
    /// By world rank: what comes to it in the k-th neighbourhood collective of a communicator, by source.
    std::vector<std::unordered_map<std::uint64_t, std::vector<Incoming>>> from_neighbours;

    static std::uint64_t key(std::uint32_t communicator, std::uint32_t k) {
        return std::uint64_t{communicator} << 32 | k;
    }
};

std::uint32_t rank_in(const Communicator &communicator, std::uint32_t world_rank) {
    for (std::uint32_t i = 0; i < communicator.members.size(); ++i)
        if (communicator.members[i] == world_rank)
            return i;
    return any;
}

/// What happened between two samples of schedstat, in seconds.
struct Interval {
    double short_gaps = 0, long_gaps = 0, mpi = 0, cpu = 0, wait = 0;
};

/// @brief Which part of the long gaps of each interval the rank had a core.
///
/// Time in the run queue is not told apart by where it was spent, and ranks that wait inside MPI give way
/// more often than ranks that compute. So the share of MPI time on a core is taken from the intervals that
/// have only MPI and short gaps; what is left of the other intervals' core time is their long gaps'. A gap
/// loses at most the interval's time in the run queue. The last entry is for what comes after the last
/// sample.
std::vector<double> on_core_parts(const std::vector<Interval> &intervals) {
    Interval all, quiet;
    for (const Interval &each : intervals)
        for (Interval *sum : {&all, &quiet})
            if (sum == &all || each.long_gaps == 0) {
                sum->short_gaps += each.short_gaps;
                sum->long_gaps += each.long_gaps;
                sum->mpi += each.mpi;
                sum->cpu += each.cpu;
            }
    const Interval &from = quiet.mpi > 0 ? quiet : all;
    const double total = from.mpi + (quiet.mpi > 0 ? 0 : from.short_gaps + from.long_gaps);
    const double core = from.cpu - (quiet.mpi > 0 ? from.short_gaps : 0);
    const double mpi_on_core = total > 0 ? std::clamp(core / total, 0.0, 1.0) : 1.0;
    std::vector<double> parts;
    double solo_sum = 0;
    for (const Interval &each : intervals) {
        const double left = each.cpu - each.short_gaps - mpi_on_core * each.mpi;
        const double solo = std::clamp(left, std::max(0.0, each.long_gaps - each.wait), each.long_gaps);
        parts.push_back(each.long_gaps > 0 ? solo / each.long_gaps : 1.0);
        solo_sum += solo;
    }
    parts.push_back(all.long_gaps > 0 ? solo_sum / all.long_gaps : 1.0);
    return parts;
}

Survey survey(std::span<const trace::ThreadRecord *const> ranks, const Communicators &communicators) {
    Survey out;
    out.on_core.resize(ranks.size());
    out.from_neighbours.resize(ranks.size());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        std::unordered_map<std::uint32_t, std::uint32_t> calls, with_neighbours;
        const double seconds_per_tick = ranks[rank]->seconds_per_tick;
        std::vector<Interval> intervals;
        Interval interval;
        trace::EventReader reader(ranks[rank]->trace);
        for (Event event; reader.next(event);) {
            if (event.call_class == CallClass::sched) {
                interval.cpu = static_cast<double>(event.cpu_ns) * 1e-9;
                interval.wait = static_cast<double>(event.runqueue_wait_ns) * 1e-9;
                intervals.push_back(interval);
                interval = {};
                continue;
            }
            const double gap = static_cast<double>(event.gap_ticks) * seconds_per_tick;
            (is_long(event, gap) ? interval.long_gaps : interval.short_gaps) += gap;
            interval.mpi += static_cast<double>(event.duration_ticks) * seconds_per_tick;
            if (sizes_are_needed_of_all(event.kind)) {
                const Communicator *c = communicators.find(rank, event.comm);
                if (c == nullptr)
                    continue;
                const std::uint32_t own = rank_in(*c, rank);
                auto &sizes = out.sizes[Survey::key(c->number, calls[c->number]++)];
                sizes.resize(c->members.size());
                if (own != any)
                    sizes[own].assign(event.collective.sizes.begin(), event.collective.sizes.end());
            }
            if (is_with_neighbours(event.kind)) {
                const Communicator *c = communicators.find(rank, event.comm);
                if (c == nullptr)
                    continue;
                const std::uint64_t key = Survey::key(c->number, with_neighbours[c->number]++);
                const auto &destinations = event.collective.destinations;
                for (std::size_t i = 0; i < destinations.size(); ++i)
                    if (destinations[i] >= 0 && static_cast<std::size_t>(destinations[i]) < ranks.size())
                        out.from_neighbours[static_cast<std::size_t>(destinations[i])][key].push_back(
                            {rank, event.collective.sizes[i]});
            }
        }
        out.on_core[rank] = on_core_parts(intervals);
    }
    return out;
}

/// Turns one rank's events into operations.
class RankReader {
  public:
    RankReader(std::uint32_t rank, const trace::ThreadRecord &record, collectives::Library library,
               const Communicators &communicators, const Survey &survey, Tags &tags, ScheduleBuilder &builder,
               Omissions &omitted)
        : rank_(rank), record_(record), library_(library), communicators_(communicators), survey_(survey),
          tags_(tags), omitted_(omitted), program_(builder, rank) {}

    void read() {
        if ((record_.rank.flags & RW_TRACE_CUT) != 0)
            ++omitted_["ranks of which only a part of the calls was traced"];
        trace::EventReader reader(record_.trace);
        for (Event event; reader.next(event); ++program_.event)
            take(event);
        if (!reader.problem().empty())
            ++omitted_["traces that are cut short: " + reader.problem()];
    }

  private:
    struct Request {
        CallClass kind = CallClass::other;
        bool persistent = false;
        std::uint32_t comm = 0;
        trace::Message send;
        trace::Receive recv;
        std::uint16_t call = 0;
        trace::CollectiveArguments collective;
        std::vector<std::uint64_t> sizes;
        std::vector<std::int32_t> destinations;
        std::uint32_t nth = 0; ///< the how-many-th alltoallv or neighbourhood collective of its communicator
        std::vector<std::uint32_t> operations;
    };

    static bool is_receive(const Request &request) {
        return request.kind == CallClass::irecv || request.kind == CallClass::recv_init;
    }

    void take(const Event &event) {
        if (event.call_class == CallClass::sched) {
            ++sample_;
            return;
        }
        compute(event);
        switch (event.call_class) {
        case CallClass::send:
            if (known_peer(event.send.peer)) {
                const Operation send = sent(event.comm, event.send, event.kind);
                if (mode_of(event.kind) == Mode::buffered)
                    buffered_.push_back(program_.then_start(send));
                else
                    program_.then(send);
            }
            break;
        case CallClass::recv:
            if (known_peer(event.recv.message.peer))
                program_.then(received(event.comm, event.recv.message));
            break;
        case CallClass::sendrecv: {
            std::vector<std::uint32_t> both;
            if (known_peer(event.send.peer))
                both.push_back(program_.beside(sent(event.comm, event.send, event.kind)));
            if (known_peer(event.recv.message.peer))
                both.push_back(program_.beside(received(event.comm, event.recv.message)));
            program_.wait_for(both);
            break;
        }
        case CallClass::isend:
        case CallClass::irecv:
        case CallClass::isendrecv:
        case CallClass::icollective:
            begin(remember(event, false));
            break;
        case CallClass::send_init:
        case CallClass::recv_init:
        case CallClass::collective_init:
            remember(event, true);
            break;
        case CallClass::start:
            for (const trace::Completion &started : event.completions)
                if (const auto found = requests_.find(started.request); found != requests_.end())
                    begin(found->second);
            break;
        case CallClass::complete:
            complete(event);
            break;
        case CallClass::collective: {
            program_.wait_for(collective(request_of(event)));
            break;
        }
        case CallClass::cancel:
            if (const auto found = requests_.find(event.request);
                found == requests_.end() || !is_receive(found->second))
                ++omitted_["cancelled requests other than receives, replayed as if they were not"];
            break;
        case CallClass::request_free:
            if (const auto found = requests_.find(event.request);
                found == requests_.end() || !found->second.operations.empty())
                ++omitted_["requests freed before their end, nobody waits for them"];
            break;
        case CallClass::partitioned:
        case CallClass::rma:
            ++omitted_["calls of the kind `" + std::string(trace::class_name(event.call_class)) +
                       "`, taken as no time"];
            break;
        case CallClass::comm:
            ++omitted_["calls that make communicators, whose synchronisation is not replayed"];
            break;
        case CallClass::io:
            program_.then(Operation::calc(std::llround(seconds(event.duration_ticks) * 1e12)));
            break;
        case CallClass::lost:
            omitted_["events that were not recorded"] += event.count;
            break;
        default:
            if (mode_of(event.kind) == Mode::flush) {
                program_.wait_for(buffered_);
                buffered_.clear();
            }
            break;
        }
    }

    double seconds(std::uint64_t ticks) const {
        return static_cast<double>(ticks) * record_.seconds_per_tick;
    }

    void compute(const Event &event) {
        const double gap_s = seconds(event.gap_ticks);
        const auto &parts = survey_.on_core[rank_];
        const double on_core = is_long(event, gap_s) ? parts[std::min(sample_, parts.size() - 1)] : 1.0;
        if (event.call_class == CallClass::poll && gap_s < spinning_gap_s * static_cast<double>(event.count))
            return;
        // Rest is carried on, so that many short gaps keep their sum.
        rest_ps_ += gap_s * on_core * 1e12;
        const auto whole = static_cast<Picoseconds>(std::floor(rest_ps_));
        if (whole > 0) {
            program_.then(Operation::calc(whole));
            rest_ps_ -= static_cast<double>(whole);
        }
    }

    bool known_peer(std::int32_t peer) {
        if (peer == trace::unknown_peer)
            ++omitted_["messages with a rank that could not be identified"];
        return peer != trace::proc_null && peer != trace::unknown_peer;
    }

    std::uint32_t tag(std::uint32_t comm, std::int32_t tag) {
        const Communicator *c = communicators_.find(rank_, comm);
        return tag == trace::any_tag ? any : tags_.number(c == nullptr ? any : c->number, tag);
    }
    Operation sent(std::uint32_t comm, const trace::Message &message, std::uint16_t call) {
        return Operation::send(static_cast<std::uint32_t>(message.peer), message.bytes,
                               tag(comm, message.tag), mode_of(call) == Mode::synchronous);
    }
    Operation received(std::uint32_t comm, const trace::Message &message) {
        const std::uint32_t peer =
            message.peer == trace::any_source ? any : static_cast<std::uint32_t>(message.peer);
        return Operation::receive(peer, message.bytes, tag(comm, message.tag));
    }

    Request request_of(const Event &event) {
        Request request;
        request.kind = event.call_class;
        request.comm = event.comm;
        request.send = event.send;
        request.recv = event.recv;
        request.call = event.kind;
        request.collective = event.collective;
        request.collective.sizes = {};
        request.sizes.assign(event.collective.sizes.begin(), event.collective.sizes.end());
        request.collective.destinations = {};
        request.destinations.assign(event.collective.destinations.begin(),
                                    event.collective.destinations.end());
        if (const Communicator *c = communicators_.find(rank_, event.comm)) {
            if (sizes_are_needed_of_all(event.kind))
                request.nth = alltoallvs_[c->number]++;
            else if (is_with_neighbours(event.kind))
                request.nth = with_neighbours_[c->number]++;
        }
        return request;
    }
    Request &remember(const Event &event, bool persistent) {
        Request &request = requests_[event.request];
        request = request_of(event);
        request.persistent = persistent;
        return request;
    }

    void begin(Request &request) {
        request.operations.clear();
        switch (request.kind) {
        case CallClass::isend:
        case CallClass::send_init:
            if (known_peer(request.send.peer))
                (mode_of(request.call) == Mode::buffered ? buffered_ : request.operations)
                    .push_back(program_.then_start(sent(request.comm, request.send, request.call)));
            break;
        case CallClass::irecv:
        case CallClass::recv_init:
            if (known_peer(request.recv.message.peer))
                request.operations.push_back(program_.beside(received(request.comm, request.recv.message)));
            break;
        case CallClass::isendrecv:
            if (known_peer(request.recv.message.peer))
                request.operations.push_back(program_.beside(received(request.comm, request.recv.message)));
            if (known_peer(request.send.peer))
                request.operations.push_back(
                    program_.then_start(sent(request.comm, request.send, request.call)));
            break;
        case CallClass::icollective:
        case CallClass::collective_init:
            request.operations = collective(request);
            break;
        default:
            break;
        }
    }

    void complete(const Event &event) {
        std::vector<std::uint32_t> operations;
        for (const trace::Completion &completion : event.completions) {
            const auto found = requests_.find(completion.request);
            if (found == requests_.end())
                continue;
            Request &request = found->second;
            const bool wildcard =
                request.recv.posted_peer == trace::any_source || request.recv.posted_tag == trace::any_tag;
            // A receive that was cancelled took nothing.
            if (is_receive(request) && completion.received.peer == trace::proc_null)
                for (const std::uint32_t posted : request.operations)
                    program_.drop(posted);
            // An isendrecv's receive comes first.
            else if (completion.is_receive && wildcard && !request.operations.empty() &&
                known_peer(completion.received.peer))
                program_.resolve(request.operations.front(),
                                 static_cast<std::uint32_t>(completion.received.peer),
                                 tag(request.comm, completion.received.tag));
            operations.insert(operations.end(), request.operations.begin(), request.operations.end());
            request.operations.clear();
            if (!request.persistent)
                requests_.erase(found);
        }
        program_.wait_for(operations);
    }

    /// @return what ends with this rank's part of a collective, begun here
    std::vector<std::uint32_t> collective(const Request &request) {
        const Communicator *c = communicators_.find(rank_, request.comm);
        const Collective kind = collective_of(request.call);
        if (c != nullptr && is_with_neighbours(request.call))
            return with_neighbours(*c, request);
        if (c == nullptr || c->is_inter || c->members.empty()) {
            ++omitted_["collective calls whose partners are not known (`" +
                       std::string(trace::calls()[request.call].name) + "`)"];
            return {};
        }
        collectives::Operation operation;
        operation.collective = kind;
        operation.rank = rank_in(*c, rank_);
        operation.size = static_cast<std::uint32_t>(c->members.size());
        operation.root =
            request.collective.root < 0 ? 0 : static_cast<std::uint32_t>(request.collective.root);
        operation.bytes = request.collective.bytes;
        operation.total_bytes = request.collective.bytes2;
        operation.element_bytes = request.collective.datatype_bytes;
        operation.commutative = (request.collective.flags & RW_COLL_NONCOMMUTATIVE) == 0;
        operation.in_place = (request.collective.flags & RW_COLL_IN_PLACE) != 0;
        operation.nonblocking = request.kind != CallClass::collective;
        if (request.sizes.size() == operation.size)
            operation.sizes = request.sizes;
        std::vector<std::uint64_t> incoming;
        if (sizes_are_needed_of_all(request.call)) {
            incoming = incoming_sizes(*c, request.nth, operation.rank);
            operation.receive_sizes = incoming;
        }
        collectives::expand(collectives::select(library_, operation), operation, steps_);
        return write_collective(program_, steps_, c->members, tags_.collective(c->number));
    }

    /// Both families of MPI libraries post all messages of a neighbourhood collective at once.
    std::vector<std::uint32_t> with_neighbours(const Communicator &c, const Request &request) {
        std::vector<std::uint32_t> operations;
        const std::uint32_t tag = tags_.collective(c.number);
        const auto &by_call = survey_.from_neighbours[rank_];
        if (const auto found = by_call.find(Survey::key(c.number, request.nth)); found != by_call.end())
            for (const Incoming &each : found->second)
                operations.push_back(program_.beside(Operation::receive(each.source, each.bytes, tag)));
        for (std::size_t i = 0; i < request.destinations.size(); ++i)
            if (known_peer(request.destinations[i]))
                operations.push_back(program_.beside(Operation::send(
                    static_cast<std::uint32_t>(request.destinations[i]), request.sizes[i], tag)));
        return operations;
    }

    std::vector<std::uint64_t> incoming_sizes(const Communicator &c, std::uint32_t k,
                                              std::uint32_t own) const {
        std::vector<std::uint64_t> incoming(c.members.size());
        if (const auto found = survey_.sizes.find(Survey::key(c.number, k)); found != survey_.sizes.end())
            for (std::size_t from = 0; from < incoming.size(); ++from)
                if (found->second[from].size() == incoming.size())
                    incoming[from] = found->second[from][own];
        return incoming;
    }

    const std::uint32_t rank_;
    const trace::ThreadRecord &record_;
    const collectives::Library library_;
    const Communicators &communicators_;
    const Survey &survey_;
    Tags &tags_;
    Omissions &omitted_;
    RankProgram program_;
    std::unordered_map<std::int64_t, Request> requests_;
    std::unordered_map<std::uint32_t, std::uint32_t> alltoallvs_, with_neighbours_;
    std::vector<collectives::Step> steps_;
    std::vector<std::uint32_t> buffered_; ///< sends, until the program takes their buffer back
    std::size_t sample_ = 0;
    double rest_ps_ = 0;
};

} // namespace

Schedule schedule_from_trace(std::span<const trace::ThreadRecord *const> ranks, collectives::Library library,
                             Omissions &omitted) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (ranks[rank] == nullptr || (ranks[rank]->rank.flags & RW_TRACED) == 0)
            throw Error("rank `" + std::to_string(rank) + "` has no trace in this recording",
                        "record it again with `rankwise record --trace`");
    const Communicators communicators(ranks);
    const Survey surveyed = survey(ranks, communicators);
    Tags tags;
    ScheduleBuilder builder(static_cast<std::uint32_t>(ranks.size()), "event");
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
        RankReader(rank, *ranks[rank], library, communicators, surveyed, tags, builder, omitted).read();
    return builder.finish();
}

} // namespace rankwise::replay
