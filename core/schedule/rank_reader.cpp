// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/rank_reader.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/algorithms/between_groups.hpp"
#include "collectives/creation.hpp"
#include "collectives/registry.hpp"
#include "schedule/collective_steps.hpp"

namespace rankwise::replay {
namespace {

using collectives::Collective;
using trace::CallClass;
using trace::Event;

/// Between failed tests a program either does something else or spins; below this per test it spins.
constexpr double spinning_gap_s = 1e-6;

/// How a send ends, which its name says.
enum class Mode : std::uint8_t { standard, synchronous, buffered, flush };

Mode mode_of(std::uint16_t kind) {
    static const std::vector<Mode> modes = [] {
        std::vector<Mode> of_kind;
        for (const auto &call : trace::calls()) {
            const auto is = [&](std::string_view name) { return call.name.starts_with(name); };
            of_kind.push_back(is("MPI_Ssend") || is("MPI_Issend")                 ? Mode::synchronous
                              : is("MPI_Bsend") || is("MPI_Ibsend")               ? Mode::buffered
                              : is("MPI_Buffer_detach") || is("MPI_Buffer_flush") ? Mode::flush
                                                                                  : Mode::standard);
        }
        return of_kind;
    }();
    return kind < modes.size() ? modes[kind] : Mode::standard;
}

std::span<const trace::ThreadRecord *const> checked(std::span<const trace::ThreadRecord *const> ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (ranks[rank] == nullptr || (ranks[rank]->rank.flags & RW_TRACED) == 0)
            throw FaultError({.kind = Fault::Kind::untraced, .rank = static_cast<std::uint32_t>(rank)});
    return ranks;
}

bool has_root(Collective collective) {
    switch (collective) {
    case Collective::bcast:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::reduce:
        return true;
    default:
        return false;
    }
}

} // namespace

TracedRun::TracedRun(std::span<const trace::ThreadRecord *const> of, collectives::Library follow)
    : ranks(of.begin(), of.end()), library(follow), communicators(checked(of)),
      surveyed(survey(of, communicators, follow)) {}

RankReader::RankReader(const TracedRun &run, const CommunicatorNodes &nodes, std::uint32_t rank, Tags &tags,
                       ScheduleBuilder &builder, Omissions &omitted)
    : run_(run), nodes_(nodes), rank_(rank), record_(*run.ranks[rank]), tags_(tags), omitted_(omitted),
      program_(builder, rank), reader_(record_.trace) {
    if ((record_.rank.flags & RW_TRACE_CUT) != 0)
        ++omitted_[{Omission::Kind::partly_traced, rank}];
    if (run.surveyed.posts_unknown[rank])
        outcomes_.emplace(record_.trace);
}

bool RankReader::read(std::uint32_t operations) {
    const std::uint32_t begun = program_.steps();
    for (Event event; program_.size() < operations || program_.steps() == begun; ++program_.event) {
        if (!reader_.next(event)) {
            if (!reader_.problem().empty())
                ++omitted_[{.kind = Omission::Kind::truncated, .rank = rank_, .problem = reader_.problem()}];
            return false;
        }
        take(event);
    }
    return true;
}

void RankReader::take(const Event &event) {
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
            found == requests_.end() ||
            (found->second.kind != CallClass::irecv && found->second.kind != CallClass::recv_init))
            ++omitted_[{Omission::Kind::cancelled, rank_}];
        break;
    case CallClass::request_free:
        if (const auto found = requests_.find(event.request);
            found == requests_.end() || !found->second.operations.empty())
            ++omitted_[{Omission::Kind::freed, rank_}];
        forget(event.request);
        break;
    case CallClass::partitioned:
    case CallClass::rma:
        leave_out(event.kind, Omission::Kind::timeless);
        break;
    case CallClass::comm:
        make_communicator(event);
        break;
    case CallClass::io:
        program_.then(Operation::calc(std::llround(seconds(event.duration_ticks) * 1e12)));
        break;
    case CallClass::lost:
        omitted_[{Omission::Kind::lost, rank_}] += event.count;
        break;
    default:
        if (mode_of(event.kind) == Mode::flush) {
            program_.wait_for(buffered_);
            buffered_.clear();
        }
        break;
    }
}

void RankReader::leave_out(std::uint16_t call, Omission::Kind how) {
    ++omitted_[{how, rank_, std::string(trace::calls()[call].name)}];
}

double RankReader::seconds(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * record_.seconds_per_tick;
}

void RankReader::compute(const Event &event) {
    const double gap_s = seconds(event.gap_ticks);
    const auto &parts = run_.surveyed.on_core[rank_];
    const double measured_s = static_cast<double>(event.gap_cpu_ns) * 1e-9;
    const double on_core_s = event.gap_cpu_ns >= 0 ? std::lerp(measured_s, gap_s, run_.surveyed.slept[rank_])
                             : is_long(event, gap_s) ? gap_s * parts[std::min(sample_, parts.size() - 1)]
                                                     : gap_s;
    if (event.call_class == CallClass::poll && gap_s < spinning_gap_s * static_cast<double>(event.count))
        return;
    // Rest is carried on, so that many short gaps keep their sum.
    rest_ps_ += on_core_s * 1e12;
    const auto whole = static_cast<Picoseconds>(std::floor(rest_ps_));
    if (whole > 0) {
        program_.then(Operation::calc(whole));
        rest_ps_ -= static_cast<double>(whole);
    }
}

bool RankReader::known_peer(std::int32_t peer) {
    if (peer == trace::unknown_peer)
        ++omitted_[{Omission::Kind::unknown_peer, rank_}];
    return peer != trace::proc_null && peer != trace::unknown_peer;
}

std::uint32_t RankReader::tag(std::uint32_t comm, std::int32_t tag) {
    const Communicator *c = run_.communicators.find(rank_, comm);
    return tag == trace::any_tag ? any : tags_.number(c == nullptr ? any : c->number, tag);
}
Operation RankReader::sent(std::uint32_t comm, const trace::Message &message, std::uint16_t call) {
    return Operation::send(static_cast<std::uint32_t>(message.peer), message.bytes, tag(comm, message.tag),
                           mode_of(call) == Mode::synchronous);
}
Operation RankReader::received(std::uint32_t comm, const trace::Message &message) {
    const std::uint32_t peer =
        message.peer == trace::any_source ? any : static_cast<std::uint32_t>(message.peer);
    return Operation::receive(peer, message.bytes, tag(comm, message.tag));
}

RankReader::Request RankReader::request_of(const Event &event) {
    Request request;
    request.number = event.request;
    request.kind = event.call_class;
    request.comm = event.comm;
    request.send = event.send;
    request.recv = event.recv;
    request.call = event.kind;
    request.collective = event.collective;
    request.collective.sizes = {};
    request.sizes.assign(event.collective.sizes.begin(), event.collective.sizes.end());
    request.collective.destinations = {};
    request.destinations.assign(event.collective.destinations.begin(), event.collective.destinations.end());
    if (const Communicator *c = run_.communicators.find(rank_, event.comm)) {
        if (sizes_are_needed_of_all(event.kind))
            request.nth = alltoallvs_[c->number]++;
        else if (is_with_neighbours(event.kind))
            request.nth = with_neighbours_[c->number]++;
    }
    return request;
}
RankReader::Request &RankReader::remember(const Event &event, bool persistent) {
    Request &request = requests_[event.request];
    request = request_of(event);
    request.persistent = persistent;
    return request;
}

void RankReader::begin(Request &request) {
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
            request.operations.push_back(program_.beside(posted(request)));
        break;
    case CallClass::isendrecv:
        if (known_peer(request.recv.message.peer))
            request.operations.push_back(program_.beside(posted(request)));
        if (known_peer(request.send.peer))
            request.operations.push_back(program_.then_start(sent(request.comm, request.send, request.call)));
        break;
    case CallClass::icollective:
    case CallClass::collective_init:
        request.operations = collective(request);
        break;
    default:
        break;
    }
}

/// What a posted receive takes is known at its end, or if it was cancelled nothing.
Operation RankReader::posted(const Request &request) {
    const Operation as_posted = received(request.comm, request.recv.message);
    if (!outcomes_)
        return as_posted;
    const auto outcome = outcomes_->next(request.number);
    if (!outcome)
        return as_posted;
    if (outcome->received.peer == trace::proc_null && request.kind != CallClass::isendrecv)
        return Operation::calc(0);
    const bool wildcard =
        request.recv.posted_peer == trace::any_source || request.recv.posted_tag == trace::any_tag;
    if (!outcome->is_receive || !wildcard || !known_peer(outcome->received.peer))
        return as_posted;
    return Operation::receive(static_cast<std::uint32_t>(outcome->received.peer), as_posted.bytes(),
                              tag(request.comm, outcome->received.tag));
}

void RankReader::complete(const Event &event) {
    std::vector<std::uint32_t> operations;
    for (const trace::Completion &completion : event.completions) {
        const auto found = requests_.find(completion.request);
        if (found == requests_.end())
            continue;
        Request &request = found->second;
        operations.insert(operations.end(), request.operations.begin(), request.operations.end());
        request.operations.clear();
        if (!request.persistent)
            requests_.erase(found);
    }
    program_.wait_for(operations);
}

void RankReader::forget(std::int64_t number) {
    requests_.erase(number);
    if (outcomes_)
        outcomes_->forget(number);
}

/// @return what ends with this rank's part of a collective, begun here
std::vector<std::uint32_t> RankReader::collective(const Request &request) {
    const Communicator *c = run_.communicators.find(rank_, request.comm);
    if (c != nullptr && is_with_neighbours(request.call))
        return with_neighbours(*c, request);
    if (c != nullptr && c->is_inter && !c->groups[0].empty() && !c->groups[1].empty())
        return between_groups(*c, request);
    if (c == nullptr || c->is_inter || c->members.empty()) {
        leave_out(request.call, Omission::Kind::unknown_partners);
        return {};
    }
    collectives::Operation operation = operation_of(request);
    if (request.sizes.size() == c->members.size())
        operation.sizes = request.sizes;
    std::vector<std::uint64_t> incoming;
    if (sizes_are_needed_of_all(request.call)) {
        incoming = incoming_sizes(*c, request.nth, c->rank_of(rank_));
        operation.receive_sizes = incoming;
    }
    return among_members(*c, operation);
}

/// What the library does on the communicator that another one is made of.
void RankReader::make_communicator(const Event &event) {
    const Communicator *c = run_.communicators.find(rank_, event.comm);
    const bool known = c != nullptr && !c->is_inter && c->rank_of(rank_) != Communicator::none;
    auto operations =
        known ? collectives::creation_of(run_.library, trace::calls()[event.kind].name, event.reorder)
              : std::vector<collectives::Operation>{};
    if (operations.empty())
        leave_out(event.kind, Omission::Kind::unsynchronised);
    for (collectives::Operation &operation : operations)
        program_.wait_for(among_members(*c, operation));
}

/// @return what ends with this rank's part of a collective of all members
std::vector<std::uint32_t> RankReader::among_members(const Communicator &c,
                                                     collectives::Operation &operation) {
    operation.rank = c.rank_of(rank_);
    operation.size = static_cast<std::uint32_t>(c.members.size());
    if (collectives::goes_by_nodes(run_.library, operation.collective))
        operation.nodes = nodes_.find(c);
    collectives::expand(collectives::select(run_.library, operation), operation, steps_);
    return write_collective(program_, steps_, c.members, tags_.collective(c.number));
}

/// Arguments but for the ranks.
collectives::Operation RankReader::operation_of(const Request &request) {
    collectives::Operation operation;
    operation.collective = collective_of(request.call);
    operation.root = request.collective.root < 0 ? 0 : static_cast<std::uint32_t>(request.collective.root);
    operation.bytes = request.collective.bytes;
    operation.total_bytes = request.collective.bytes2;
    operation.element_bytes = request.collective.datatype_bytes;
    operation.commutative = (request.collective.flags & RW_COLL_NONCOMMUTATIVE) == 0;
    operation.in_place = (request.collective.flags & RW_COLL_IN_PLACE) != 0;
    operation.nonblocking = request.kind != CallClass::collective;
    return operation;
}

std::vector<std::uint32_t> RankReader::between_groups(const Communicator &c, const Request &request) {
    const std::size_t group = c.group_of(rank_);
    const std::vector<std::uint32_t> &own = c.groups[group], &others = c.groups[1 - group];
    collectives::Operation operation = operation_of(request);
    operation.rank = static_cast<std::uint32_t>(std::find(own.begin(), own.end(), rank_) - own.begin());
    operation.size = static_cast<std::uint32_t>(own.size());
    operation.sizes = request.sizes;
    const bool rooted = has_root(operation.collective);
    const auto part = !rooted                                   ? collectives::Part::all
                      : request.collective.root == RW_ROOT_HERE ? collectives::Part::root
                      : request.collective.root < 0             ? collectives::Part::beside
                                                                : collectives::Part::across;
    if (operation.rank >= operation.size || operation.root >= others.size())
        throw FaultError({.kind = Fault::Kind::intercommunicator,
                          .rank = rank_,
                          .count = program_.event,
                          .call = std::string(trace::calls()[request.call].name)});
    collectives::expand_between_groups(run_.library, operation, static_cast<std::uint32_t>(others.size()),
                                       part, steps_);
    std::vector<std::uint32_t> members = own;
    members.insert(members.end(), others.begin(), others.end());
    return write_collective(program_, steps_, members, tags_.collective(c.number));
}

/// Both families of MPI libraries post all messages of a neighbourhood collective at once.
std::vector<std::uint32_t> RankReader::with_neighbours(const Communicator &c, const Request &request) {
    std::vector<std::uint32_t> operations;
    const std::uint32_t tag = tags_.collective(c.number);
    const auto &by_call = run_.surveyed.from_neighbours[rank_];
    if (const auto found = by_call.find(Survey::key(c.number, request.nth)); found != by_call.end())
        for (const Incoming &each : found->second)
            operations.push_back(program_.beside(Operation::receive(each.source, each.bytes, tag)));
    for (std::size_t i = 0; i < request.destinations.size(); ++i)
        if (known_peer(request.destinations[i]))
            operations.push_back(program_.beside(
                Operation::send(static_cast<std::uint32_t>(request.destinations[i]), request.sizes[i], tag)));
    return operations;
}

std::vector<std::uint64_t> RankReader::incoming_sizes(const Communicator &c, std::uint32_t k,
                                                      std::uint32_t own) const {
    std::vector<std::uint64_t> incoming(c.members.size());
    if (const auto found = run_.surveyed.sizes.find(Survey::key(c.number, k));
        found != run_.surveyed.sizes.end())
        for (std::size_t from = 0; from < incoming.size(); ++from)
            if (found->second[from].size() == incoming.size())
                incoming[from] = found->second[from][own];
    return incoming;
}

} // namespace rankwise::replay
