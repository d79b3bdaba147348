// SPDX-License-Identifier: BSD-3-Clause
#include "decide/observation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace rankwise::tune {

namespace {

// Below this use of a unit governors lower its clock because of that: schedutil asks for 1.25 x use.
constexpr double clock_follows_use = 0.8;
// A core that others take whole still gives a rank something.
constexpr double least_capability = 0.05;
// What the kernel leaves one of two threads that both want a unit. Assumed: /proc/stat says what others used
// where no rank wanted the unit, not how many they are, nor what they would leave one that does.
constexpr double fair_share = 0.5;

/// @param[in] at where it is likely to be
const RankSample *find(const Sample &sample, const TaskId &process, std::size_t at) {
    if (at < sample.ranks.size() && sample.ranks[at].process == process)
        return &sample.ranks[at];
    const auto found = std::find_if(sample.ranks.begin(), sample.ranks.end(),
                                    [&](const RankSample &each) { return each.process == process; });
    return found == sample.ranks.end() ? nullptr : &*found;
}

const ThreadSample *find(const RankSample &rank, const TaskId &thread) {
    const auto found = std::find_if(rank.threads.begin(), rank.threads.end(),
                                    [&](const ThreadSample &each) { return each.id == thread; });
    return found == rank.threads.end() ? nullptr : &*found;
}

double share(double seconds, Seconds of) {
    return std::clamp(seconds / of, 0.0, 1.0);
}

std::vector<Progress::Peer> sent_between(const Progress &before, const Progress &after) {
    std::vector<Progress::Peer> sent;
    for (const Progress::Peer &now : after.peers) {
        Progress::Peer difference = now;
        for (const Progress::Peer &then : before.peers)
            if (then.rank == now.rank) {
                difference.messages -= std::min(then.messages, now.messages);
                difference.bytes -= std::min(then.bytes, now.bytes);
            }
        if (difference.messages > 0)
            sent.push_back(difference);
    }
    return sent;
}

/// What a thread ran on each unit between two samples.
std::vector<std::pair<std::int32_t, Seconds>> run_between(const ThreadSample *before,
                                                          const ThreadSample &after) {
    if (after.run_on.empty())
        return {{after.pu, std::max(after.run - (before ? before->run : 0), 0.0)}};
    std::vector<std::pair<std::int32_t, Seconds>> found = after.run_on;
    // Units are only added behind those that are there.
    if (before && !before->run_on.empty() && before->run_on_number == after.run_on_number)
        for (std::size_t at = 0; at < before->run_on.size(); ++at)
            found[at].second -= before->run_on[at].second;
    else if (before)
        found.front().second -= before->run;
    for (auto &[pu, run] : found)
        run = std::max(run, 0.0);
    return found;
}

RankLoad load_of(const RankSample &before, const RankSample &after, Seconds length,
                 std::map<std::int32_t, double> &run_on) {
    RankLoad load;
    load.process = after.process;
    const ThreadSample &main = after.threads.front();
    load.mask = units_of(after.threads);
    load.pu = main.pu;
    double main_runs = 0;
    for (const ThreadSample &thread : after.threads) {
        const ThreadSample *const then = find(before, thread.id);
        const auto run = run_between(then, thread);
        double runs = 0;
        for (const auto &[pu, seconds] : run) {
            run_on[pu] += seconds / length;
            runs += seconds / length;
        }
        const double queued = share(thread.queued - (then ? then->queued : 0), length);
        load.runs += runs;
        load.ready += std::min(runs + queued, 1.0);
        load.busy_threads += runs > busy_share;
        load.pinned |= (load.mask & ~*thread.mask).any();
        load.rebound |= then && then->mask != thread.mask;
        if (thread.id == main.id) {
            main_runs = runs;
            load.queued = queued;
            if (runs > 0) {
                load.pu = std::ranges::max_element(run, {}, &std::pair<std::int32_t, Seconds>::second)->first;
                for (const auto &[pu, seconds] : run)
                    load.ran_on.emplace_back(pu, seconds / length / runs);
            } else {
                load.ran_on.emplace_back(main.pu, 1);
            }
        }
    }
    load.outside_mpi = std::min(main_runs, 1.0);
    if (after.progress && before.progress) {
        load.rank = after.progress->rank;
        load.outside_mpi = 1 - share(after.progress->mpi - before.progress->mpi, length);
        load.waits = share(after.progress->wait - before.progress->wait, length);
        load.sent = sent_between(*before.progress, *after.progress);
        load.mpi_known = true;
    } else if (after.sampled_mpi && before.sampled_mpi) {
        load.waits = share(*after.sampled_mpi - *before.sampled_mpi, length);
        load.outside_mpi = std::max(load.outside_mpi - load.waits, 0.0);
        load.mpi_known = true;
    }
    load.set_pages(after.pages);
    return load;
}

/// Units that are hardly used get the clock of those that are.
void set_clocks(std::map<std::int32_t, PuLoad> &pus, const std::map<std::int32_t, double> &clocks) {
    double sum = 0;
    for (const auto &[pu, clock] : clocks)
        sum += clock;
    for (auto &[pu, load] : pus) {
        const auto own = clocks.find(pu);
        load.clock = own != clocks.end() ? own->second
                     : clocks.empty()    ? 1
                                         : sum / static_cast<double>(clocks.size());
    }
}

} // namespace

bool NumaPages::may_be_on(std::int32_t numa) const {
    const auto at = static_cast<std::size_t>(numa);
    const std::uint64_t kept_off = bound - (at < bound_to.size() ? bound_to[at] : 0);
    return 2 * kept_off <= std::accumulate(on.begin(), on.end(), std::uint64_t{0});
}

void RankLoad::set_pages(NumaPages own) {
    const auto most = std::ranges::max_element(own.on);
    home = most != own.on.end() && *most > 0 ? static_cast<std::int32_t>(most - own.on.begin()) : -1;
    pages = std::move(own);
}

int RankLoad::threads() const {
    // Many that share few units wait most of the time: each of them may run for less than counts as busy.
    return std::max(busy_threads, static_cast<int>(std::lround(ready)));
}

double PuLoad::capability() const {
    return std::max((1 - interrupts - others - stolen) * clock * capacity, least_capability);
}

bool Observation::has_low_clock() const {
    return std::ranges::any_of(pus, [](const auto &pu) { return pu.second.clock < 1; });
}

PuSet units_of(const std::vector<ThreadSample> &threads) {
    const PuSet &main = threads.front().mask;
    PuSet units = main;
    for (const ThreadSample &thread : threads)
        // Who has all units of the main thread, and more, was not bound with it.
        if ((main & ~*thread.mask).any())
            units |= thread.mask;
    return units;
}

std::vector<Observation> observe(const Sample &before, const Sample &after) {
    const Seconds length = after.at - before.at;
    std::vector<Observation> found;
    if (length <= 0 || before.light || after.light)
        return found;
    std::map<std::string, Observation> groups;
    std::map<std::string, std::map<std::int32_t, double>> run_on;
    std::map<std::string, std::set<std::int32_t>> claimed;
    for (std::size_t at = 0; at < after.ranks.size(); ++at) {
        const RankSample &rank = after.ranks[at];
        Observation &group = groups[rank.group];
        group.group = rank.group;
        group.length = length;
        if (rank.progress && rank.progress->ended) {
            group.unusable = "a rank is in MPI_Finalize";
            continue;
        }
        const RankSample *const then = find(before, rank.process, at);
        // Jobs that nothing else tells apart: nobody knows which cores are whose.
        if (rank.progress && !claimed[rank.group].insert(rank.progress->rank).second)
            group.unusable = "two processes are rank " + std::to_string(rank.progress->rank);
        else if (rank.stopped || (then && then->stopped))
            group.unusable = "a rank is suspended";
        else if (!then || then->threads.empty() || rank.threads.empty())
            group.unusable = "a rank has just been found";
        else
            group.ranks.push_back(load_of(*then, rank, length, run_on[rank.group]));
    }
    for (std::size_t at = 0; at < before.ranks.size(); ++at)
        if (const RankSample &rank = before.ranks[at]; !find(after, rank.process, at))
            groups[rank.group].unusable = "a rank has ended";
    std::map<std::int32_t, PuLoad> pus; // others: all but interrupts
    std::map<std::int32_t, double> clocks;
    for (const PuSample &now : after.pus) {
        const auto then = std::find_if(before.pus.begin(), before.pus.end(),
                                       [&](const PuSample &each) { return each.os == now.os; });
        PuLoad load;
        load.online = now.online;
        load.capacity = now.capacity;
        load.line = now.line;
        load.line_share = now.line_share;
        load.line_numa = now.line_numa;
        load.line_steered = now.line_steered;
        load.steered_to = now.steered_to;
        load.isolated = now.isolated;
        if (then != before.pus.end() && now.online && then->online) {
            load.interrupts = share(now.interrupt - then->interrupt, length);
            load.stolen = share(now.stolen - then->stolen, length);
            const double used = share(now.busy - then->busy, length);
            load.others = std::max(used - load.interrupts, 0.0);
            if (used >= clock_follows_use)
                // It may have been idle at the one moment.
                clocks[now.os] = std::max(then->clock, now.clock);
        }
        pus[now.os] = load;
    }
    set_clocks(pus, clocks);
    std::vector<double> memory;
    if (before.memory_bytes.size() == after.memory_bytes.size())
        for (std::size_t node = 0; node < after.memory_bytes.size(); ++node)
            memory.push_back(static_cast<double>(after.memory_bytes[node] - before.memory_bytes[node]) /
                             length);
    for (auto &[name, group] : groups) {
        group.memory_bytes_per_s = memory;
        group.counted_at_memory = after.counted_at_memory;
        const auto in_order = [](const RankLoad &a, const RankLoad &b) {
            return a.rank != b.rank ? a.rank < b.rank : a.process < b.process;
        };
        // They are large, and most launchers start them in order.
        if (!std::is_sorted(group.ranks.begin(), group.ranks.end(), in_order))
            std::sort(group.ranks.begin(), group.ranks.end(), in_order);
        group.group = name;
        group.pus = pus;
        // A thread is outside MPI, too, while an interrupt has its core.
        for (RankLoad &rank : group.ranks) {
            const auto at = pus.find(rank.pu);
            const double left =
                at == pus.end() ? 1
                                : std::max(1 - at->second.interrupts - at->second.stolen, least_capability);
            if (rank.rank < 0)
                rank.outside_mpi = std::min(rank.outside_mpi / left, std::max(1 - rank.waits, 0.0));
            // Outside MPI it may also sleep: in I/O, or for another process.
            const double used = rank.runs / left + rank.queued;
            rank.computes = used < (1 - busy_share) * rank.outside_mpi ? used : rank.outside_mpi;
        }
        const std::map<std::int32_t, double> &ran = run_on[name];
        for (auto &[pu, load] : group.pus) {
            const auto runs = ran.find(pu);
            const double own = runs == ran.end() ? 0 : runs->second;
            load.others = std::max(load.others - own, 0.0);
            if (own < busy_share)
                load.others = std::min(load.others, fair_share * (1 - load.interrupts - load.stolen));
        }
        found.push_back(std::move(group));
    }
    return found;
}

std::vector<double> signature(const std::vector<double> &outside_mpi, const std::vector<double> &capability) {
    std::vector<double> computation(outside_mpi.size());
    for (std::size_t rank = 0; rank < computation.size(); ++rank)
        computation[rank] = outside_mpi[rank] * capability[rank];
    const auto most = std::max_element(computation.begin(), computation.end());
    if (most != computation.end() && *most > 0)
        for (const double scale = *most; double &each : computation)
            each /= scale;
    return computation;
}

double difference(const std::vector<double> &a, const std::vector<double> &b) {
    if (a.size() != b.size() || a.empty())
        return 1;
    double most = 0;
    for (std::size_t rank = 0; rank < a.size(); ++rank)
        most = std::max(most, std::abs(a[rank] - b[rank]));
    return most;
}

} // namespace rankwise::tune
