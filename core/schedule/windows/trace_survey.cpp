// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/windows/trace_survey.hpp"

#include <algorithm>
#include <bit>

#include "collectives/creation.hpp"
#include "schedule/schedule.hpp"
#include "trace/event_reader.hpp"

namespace rankwise::replay {
namespace {

using trace::CallClass;
using trace::Event;

/// A gap shorter than this was not interrupted: no scheduler lets another thread run for less than about
/// this.
constexpr double shortest_interruption_s = 1e-3;

/// What happened between two samples of schedstat, in seconds. Of gaps whose processor time was measured that
/// is all that counts, as if they were short ones.
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

/// Gaps whose processor time was measured, all of a rank's, in seconds.
struct Measured {
    double on_core = 0, off_core = 0;
};

/// @brief Which part of the time off their core in measured gaps the rank slept; the rest it waited for a
/// core.
///
/// It slept if that is more than all its time in the run queue, or so much more than its time on the core
/// that no number of ranks that share one explains it. Then it is taken to spin inside MPI, where what it had
/// no core for is time in the run queue, and the rest of that is these gaps'.
double slept_part(const Measured &gaps, const std::vector<Interval> &intervals) {
    constexpr double more_than_waiting = 1.2, more_than_computing = 10;
    Interval all;
    for (const Interval &each : intervals) {
        all.short_gaps += each.short_gaps;
        all.long_gaps += each.long_gaps;
        all.mpi += each.mpi;
        all.cpu += each.cpu;
        all.wait += each.wait;
    }
    if (gaps.off_core <= more_than_waiting * all.wait && gaps.off_core <= more_than_computing * gaps.on_core)
        return 0;
    const double mpi_on_core = std::max(0.0, all.cpu - all.short_gaps - all.long_gaps);
    const double waited = std::max(0.0, all.wait - std::max(0.0, all.mpi - mpi_on_core));
    return 1 - std::min(1.0, waited / gaps.off_core);
}

bool posts_unknown(const Event &event) {
    switch (event.call_class) {
    case CallClass::irecv:
    case CallClass::recv_init:
    case CallClass::isendrecv:
        return event.recv.posted_peer == trace::any_source || event.recv.posted_tag == trace::any_tag;
    default:
        return event.call_class == CallClass::cancel;
    }
}

bool goes_by_nodes(collectives::Library library, const Event &event) {
    if (event.call_class == CallClass::comm && event.comm != trace::no_comm)
        for (const collectives::Operation &each :
             collectives::creation_of(library, trace::calls()[event.kind].name, event.reorder))
            if (!each.nonblocking && collectives::goes_by_nodes(library, each.collective))
                return true;
    return event.call_class == CallClass::collective &&
           collectives::goes_by_nodes(library, collective_of(event.kind));
}

/// About how many operations an event becomes: of a collective, a message a neighbour or two a doubling.
std::uint64_t operations_of(const Event &event, std::uint32_t rank, const Communicators &communicators) {
    const std::uint64_t computation = event.gap_ticks > 0 ? 1 : 0;
    switch (event.call_class) {
    case CallClass::send:
    case CallClass::recv:
    case CallClass::isend:
    case CallClass::irecv:
    case CallClass::complete:
        return computation + 1;
    case CallClass::sendrecv:
    case CallClass::isendrecv:
        return computation + 3;
    case CallClass::start:
        return computation + event.completions.size();
    case CallClass::collective:
    case CallClass::icollective: {
        const Communicator *c = communicators.find(rank, event.comm);
        const std::uint64_t members = c == nullptr ? 0 : c->members.size();
        const trace::Collective kind = collective_of(event.kind);
        if (is_with_neighbours(event.kind))
            return computation + 1 + 2 * event.collective.destinations.size();
        if (kind == trace::Collective::alltoall || sizes_are_needed_of_all(event.kind))
            return computation + 1 + 2 * members;
        return computation + 1 + 3 * static_cast<std::uint64_t>(std::bit_width(members));
    }
    case CallClass::comm: { // up to four collectives
        const Communicator *c = communicators.find(rank, event.comm);
        return computation +
               (c == nullptr ? 0 : 12 * static_cast<std::uint64_t>(std::bit_width(c->members.size())));
    }
    default:
        return computation;
    }
}

} // namespace

trace::Collective collective_of(std::uint16_t kind) {
    return kind < trace::calls().size() ? trace::calls()[kind].collective : trace::Collective::none;
}

bool is_long(const Event &event, double gap_s) {
    return gap_s >= shortest_interruption_s && event.call_class != CallClass::poll;
}

Survey survey(std::span<const trace::ThreadRecord *const> ranks, const Communicators &communicators,
              collectives::Library library) {
    Survey out;
    out.on_core.resize(ranks.size());
    out.slept.resize(ranks.size());
    out.from_neighbours.resize(ranks.size());
    out.posts_unknown.resize(ranks.size());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        std::unordered_map<std::uint32_t, std::uint32_t> calls, with_neighbours;
        const double seconds_per_tick = ranks[rank]->seconds_per_tick;
        std::vector<Interval> intervals;
        Interval interval;
        Measured measured;
        trace::EventReader reader(ranks[rank]->trace);
        for (Event event; reader.next(event);) {
            if (event.call_class == CallClass::sched) {
                interval.cpu = static_cast<double>(event.cpu_ns) * 1e-9;
                interval.wait = static_cast<double>(event.runqueue_wait_ns) * 1e-9;
                intervals.push_back(interval);
                interval = {};
                continue;
            }
            out.posts_unknown[rank] = out.posts_unknown[rank] || posts_unknown(event);
            out.goes_by_nodes = out.goes_by_nodes || goes_by_nodes(library, event);
            out.operations += operations_of(event, rank, communicators);
            const double gap = static_cast<double>(event.gap_ticks) * seconds_per_tick;
            if (event.gap_cpu_ns >= 0) {
                const double on_core = static_cast<double>(event.gap_cpu_ns) * 1e-9;
                interval.short_gaps += on_core;
                measured.on_core += on_core;
                measured.off_core += std::max(0.0, gap - on_core);
            } else
                (is_long(event, gap) ? interval.long_gaps : interval.short_gaps) += gap;
            interval.mpi += static_cast<double>(event.duration_ticks) * seconds_per_tick;
            if (sizes_are_needed_of_all(event.kind)) {
                const Communicator *c = communicators.find(rank, event.comm);
                if (c == nullptr)
                    continue;
                const std::uint32_t own = c->rank_of(rank);
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
        out.slept[rank] = slept_part(measured, intervals);
    }
    return out;
}

} // namespace rankwise::replay
