// SPDX-License-Identifier: BSD-3-Clause
// What a tuner sees of a simulated node.
#include "simulated_system.hpp"

#include <algorithm>
#include <utility>

namespace rankwise::tune::simulated {

namespace {

// As on Linux, samples that are not asked for other movers look for them so often.
constexpr Seconds between_looks_for_movers = 10;

NumaPages pages_of(const Rank &rank, double bytes) {
    const auto count = static_cast<std::uint64_t>(bytes / 4096);
    NumaPages pages;
    pages.on.resize(static_cast<std::size_t>(rank.seen_home + 1));
    if (!pages.on.empty())
        pages.on.back() = count;
    if (rank.bound_to >= 0) {
        pages.bound = count;
        pages.bound_to.resize(static_cast<std::size_t>(rank.bound_to + 1));
        pages.bound_to.back() = count;
    }
    return pages;
}

} // namespace

RankSample SimulatedSystem::sample_of(const Job &job, const Rank &rank, std::int32_t number,
                                      bool light) const {
    RankSample found;
    found.process = rank.process;
    found.group = job.name;
    if (!light) { // a light sample says nothing of it, as on Linux
        found.stopped = job.suspended;
        ThreadSample thread;
        thread.id = rank.process;
        thread.state = job.suspended ? 'T' : 'R';
        thread.run = rank.run;
        thread.queued = rank.queued;
        thread.pu = rank.pu;
        thread.mask = rank.mask;
        if (job.wanders > 0)
            thread.run_on = rank.run_on;
        if (job.pinned == Job::all)
            thread.mask = PuSet{}.set(static_cast<std::size_t>(rank.pu));
        found.threads.push_back(thread);
        thread.mask = rank.mask;
        for (std::size_t other = 1; other < rank.pus.size(); ++other) {
            thread.id = {rank.process.number + 100000 * static_cast<std::int32_t>(other), 1};
            thread.pu = rank.pus[other];
            if (job.pinned != Job::nothing)
                thread.mask = PuSet{}.set(static_cast<std::size_t>(thread.pu));
            found.threads.push_back(thread);
        }
        found.pages = pages_of(rank, job.bytes_of_rank);
    }
    if (!light && job.sampled)
        found.sampled_mpi = rank.mpi;
    if (job.page && rank.page) {
        Progress progress;
        progress.rank = number;
        progress.ranks = static_cast<std::int32_t>(job.ranks.size());
        const auto done = static_cast<std::uint64_t>(rank.position);
        const std::vector<std::int32_t> partners = job.partners(number);
        progress.calls = done * (1 + 2 * partners.size());
        progress.known_by = job.iterations && done > 0;
        progress.iterations = job.iterations ? done : 0;
        progress.iteration_end = job.iterations ? rank.iteration_end : 0;
        progress.mpi = rank.mpi;
        progress.wait = rank.wait;
        for (const std::int32_t other : partners)
            progress.peers.push_back(
                {other, done, static_cast<std::uint64_t>(static_cast<double>(done) * job.bytes)});
        found.progress = std::move(progress);
    }
    return found;
}

Sample SimulatedSystem::sample(bool light) {
    ++samples_;
    settle_on_cores();
    for (Job &each : jobs_)
        for (Rank &rank : each.ranks)
            rank.seen = light ? rank.seen : rank.mask;
    Sample found;
    found.at = now_;
    found.light = light;
    if (!light)
        note_units();
    for (const Job &each : jobs_)
        for (std::size_t r = 0; each.running && r < each.ranks.size(); ++r)
            if (each.ranks[r].alive)
                found.ranks.push_back(sample_of(each, each.ranks[r], static_cast<std::int32_t>(r), light));
    if (light)
        return found;
    if (clocks_at_ < 0 || now_ >= clocks_at_ + clocks_every_) {
        clocks_at_ = now_;
        // schedutil: what is hardly used is slow because of that.
        for (const Core &core : cores_)
            seen_clocks_[core.pu->os] = core.clock * std::clamp(1.25 * core.used, 0.3, 1.0);
    }
    found.clocks_at = clocks_at_;
    for (const Core &core : cores_) {
        const std::int32_t os = core.pu->os;
        PuSample pu{.os = os,
                    .online = online_.test(static_cast<std::size_t>(os)),
                    .busy = core.busy,
                    .interrupt = core.interrupt,
                    .stolen = core.stole};
        pu.isolated = core.isolated;
        pu.capacity = core.capacity;
        pu.clock = seen_clocks_.at(os);
        double most = 0;
        for (const auto &[number, line] : lines_)
            if (line.unit == os && line.takes > most) {
                most = line.takes;
                pu.line = number;
                pu.line_numa = line.numa;
                pu.line_share = line.takes / core.interrupts;
                pu.line_steered = line.steered;
            }
        pu.steered_to = core.steered_to;
        found.pus.push_back(pu);
    }
    if (now_ >= movers_due_) {
        seen_movers_ = movers_;
        movers_due_ = now_ + between_looks_for_movers;
    }
    found.no_journal = no_journal_;
    found.movers.assign(seen_movers_.begin(), seen_movers_.end());
    if (counts_traffic_)
        for (const double bytes : memory_bytes_)
            found.memory_bytes.push_back(static_cast<std::uint64_t>(bytes));
    found.counted_at_memory = at_memory_;
    take_back(halfway_); // as the actor does, behind what the ranks were seen with
    return found;
}

Seconds SimulatedSystem::look_at_units() {
    ++unit_looks_;
    note_units();
    return now_ + 0.05;
}

void SimulatedSystem::note_units() {
    for (Job &job : jobs_)
        for (Rank &rank : job.ranks) {
            auto own = std::ranges::find(rank.run_on, rank.pu, &std::pair<std::int32_t, Seconds>::first);
            if (own == rank.run_on.end())
                own = rank.run_on.insert(own, {rank.pu, 0});
            own->second += rank.run - std::exchange(rank.looked_at, rank.run);
        }
}

Sample SimulatedSystem::sample_with_movers() {
    movers_due_ = now_;
    return sample(false);
}

NumaPages SimulatedSystem::pages_by_numa(const TaskId &process) {
    const Found found = find(process);
    if (!found.rank)
        return {};
    found.rank->seen_home = found.rank->home;
    return pages_of(*found.rank, found.job->bytes_of_rank);
}

} // namespace rankwise::tune::simulated
