// SPDX-License-Identifier: BSD-3-Clause
// What the jobs of a simulated node do while time passes: cores, memories and messages as a model has them.
#include "simulated_system.hpp"

#include <algorithm>
#include <cmath>

namespace rankwise::tune::simulated {

namespace {

constexpr Seconds chunk = 0.02;
// How long the factor of noise is like itself.
constexpr Seconds remembered = 0.5;
// How much slower a thread is beside one that computes, and beside one that spins.
constexpr double beside_busy = 0.65, beside_spinning = 0.25;
// Seconds a byte by what two ranks share, as in `levels` of decide/problem.hpp: nothing .. core.
constexpr double s_per_byte[] = {1e-9, 6e-10, 3e-10, 2.5e-10, 1e-10, 8e-11, 8e-11};

std::int32_t common(const Pu &a, const Pu &b) {
    std::int32_t level = 1;
    for (const auto part : {&Pu::package, &Pu::numa, &Pu::l3, &Pu::l2, &Pu::core}) {
        if (a.*part < 0 || a.*part != b.*part)
            break;
        ++level;
    }
    return level;
}

} // namespace

std::vector<std::int32_t> Job::partners(std::int32_t rank) const {
    const auto count = static_cast<std::int32_t>(ranks.size());
    if (count < 2 || pattern == "none")
        return {};
    if (pattern == "pairs")
        return (rank ^ 1) < count ? std::vector<std::int32_t>{rank ^ 1} : std::vector<std::int32_t>{};
    if (pattern == "halves")
        return {(rank + count / 2) % count};
    if (count == 2)
        return {1 - rank};
    return {(rank + 1) % count, (rank + count - 1) % count};
}

/// As Linux does: each rank on the unit of its mask that has the fewest.
void SimulatedSystem::settle_on_cores() {
    if (settled_)
        return;
    settled_ = true;
    for (Core &core : cores_)
        core.ranks.clear();
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        if (!jobs_[j].running)
            continue;
        for (std::size_t r = 0; r < jobs_[j].ranks.size(); ++r) {
            Rank &rank = jobs_[j].ranks[r];
            if (!rank.alive)
                continue;
            const PuSet &usable = rank.mask;
            const auto load = [&](std::int32_t pu) { return core(pu).ranks.size(); };
            std::int32_t best = rank.pu >= 0 && usable.test(static_cast<std::size_t>(rank.pu)) ? rank.pu : -1;
            rank.is_bound = rank.mask.count() == 1;
            // Who shares a unit looks again.
            settled_ = settled_ && best >= 0 && load(best) == 0;
            // It is not always seen at once that another unit is idle.
            if (best < 0 || (load(best) > 0 && random_() % 4 == 0))
                for (std::size_t pu = usable._Find_first(); pu < most_pus; pu = usable._Find_next(pu))
                    if (best < 0 || load(static_cast<std::int32_t>(pu)) < load(best))
                        best = static_cast<std::int32_t>(pu);
            rank.pu = best;
            rank.pus = {best};
            for (std::size_t pu = usable._Find_first();
                 pu < most_pus && rank.pus.size() < static_cast<std::size_t>(jobs_[j].threads);
                 pu = usable._Find_next(pu))
                if (const auto unit = static_cast<std::int32_t>(pu); unit != best)
                    rank.pus.push_back(unit);
            // More threads than units share them.
            const std::size_t units = rank.pus.size();
            while (rank.pus.size() < static_cast<std::size_t>(jobs_[j].threads))
                rank.pus.push_back(rank.pus[rank.pus.size() - units]);
            for (const std::int32_t pu : rank.pus)
                core(pu).ranks.emplace_back(j, r);
        }
    }
}

/// Two ranks that are not bound change places now and then, as Linux lets them while others want their units.
void SimulatedSystem::wander(Job &job, Seconds length) {
    for (Rank &rank : job.ranks) {
        Rank &other = job.ranks[job.random() % job.ranks.size()];
        const auto may_be = [](const Rank &one, const Rank &on) {
            return one.pu >= 0 && on.pu >= 0 && one.mask.test(static_cast<std::size_t>(on.pu));
        };
        if (may_be(rank, other) && may_be(other, rank) &&
            std::uniform_real_distribution<>()(job.random) < job.wanders * length) {
            std::swap(rank.pu, other.pu);
            settled_ = false;
        }
    }
}

double SimulatedSystem::capability(const Rank &rank) const {
    double sum = 0;
    for (const std::int32_t pu : rank.pus)
        sum += capability(pu);
    return sum / static_cast<double>(rank.pus.size());
}

double SimulatedSystem::capability(std::int32_t pu) const {
    const Core &own = core(pu);
    double capability =
        std::max((1 - own.interrupts - own.others - own.stolen) * own.clock * own.capacity, 0.02) /
        static_cast<double>(std::max<std::size_t>(own.ranks.size(), 1));
    for (const std::int32_t other : own.beside)
        for (const auto &[j, r] : core(other).ranks) {
            const Rank &beside = jobs_[j].ranks[r];
            const double busy = jobs_[j].suspended ? 0 : beside.computes;
            const bool spins = jobs_[j].spins && beside.does != Rank::sleeps;
            capability /= 1 + beside_busy * busy + (spins ? beside_spinning * (1 - busy) : 0);
        }
    return capability;
}

std::int32_t SimulatedSystem::memory_of(const Rank &rank) const {
    return rank.home >= 0 ? rank.home : core(rank.pu).pu->numa;
}

/// How many times longer a rank computes than alone: for the part of it that it waits for memory, by what all
/// ask of that memory that are at work now, where it is more than it has.
double SimulatedSystem::longer_by_memory(const Job &job, std::size_t rank) const {
    if (job.moves.empty() || node_.core_memory_bytes_per_s <= 0)
        return 1;
    double asked = 0;
    for (const Job &other : jobs_)
        for (std::size_t r = 0; other.running && !other.suspended && r < other.moves.size(); ++r)
            if (other.ranks[r].alive && other.ranks[r].pu >= 0 &&
                memory_of(other.ranks[r]) == memory_of(job.ranks[rank]))
                asked += other.moves[r] * other.ranks[r].computes;
    const double waits = job.moves[rank] / node_.core_memory_bytes_per_s;
    return 1 + waits * (std::max(asked / node_.memory_bytes_per_s, 1.0) - 1);
}

void SimulatedSystem::run(Job &job, Seconds length) {
    const std::size_t count = job.ranks.size();
    if (std::ranges::any_of(job.ranks, [](const Rank &rank) { return !rank.alive && !rank.left; })) {
        // The others wait for the one that is gone.
        for (Rank &rank : job.ranks) {
            rank.computes = 0;
            rank.mpi += length;
            rank.wait += length;
        }
        return;
    }
    std::vector<double> gets(count), computes(count), takes(count), longer(count); // gets: of its units
    const double kept = std::exp(-length / remembered);
    std::normal_distribution<double> normal(0, job.noise);
    job.factor = kept * job.factor + std::sqrt(1 - kept * kept) * normal(job.random);
    double longest = 0;
    const auto takes_part = [&](std::size_t r) { return job.ranks[r].does == Rank::takes_part; };
    for (std::size_t r = 0; r < count; ++r) {
        const Rank &rank = job.ranks[r];
        const bool far = rank.home >= 0 && core(rank.pu).pu->numa != rank.home;
        gets[r] = capability(rank);
        longer[r] = longer_by_memory(job, r);
        computes[r] = job.computation[r] / gets[r] * (far ? 1 + job.away : 1) * longer[r];
    }
    for (std::size_t r = 0; r < count; ++r) {
        if (!takes_part(r))
            continue;
        takes[r] = computes[r];
        for (const std::int32_t number : job.partners(static_cast<std::int32_t>(r))) {
            const auto other = static_cast<std::size_t>(number);
            if (!takes_part(other))
                continue;
            const Pu &a = *core(job.ranks[r].pu).pu, &b = *core(job.ranks[other].pu).pu;
            takes[r] += 2 * job.bytes * s_per_byte[common(a, b)] / std::min({gets[r], gets[other], 1.0});
            takes[r] += job.out_of_phase *
                        (1 - std::min(gets[r], gets[other]) / std::max(gets[r], gets[other])) *
                        computes[other];
        }
        longest = std::max(longest, takes[r]);
    }
    longest *= std::max(1 + job.factor, 0.2);
    const Seconds works = std::max(length - job.stalled, 0.0);
    job.stalled = std::max(job.stalled - length, 0.0);
    const double before = job.position, advance = longest > 0 ? works / longest : 0;
    job.position += advance;
    const bool ended = std::floor(job.position) > std::floor(before);
    for (std::size_t r = 0; r < count; ++r) {
        Rank &rank = job.ranks[r];
        if (takes_part(r)) {
            rank.position += advance;
            if (ended)
                rank.iteration_end = now_ + length - (job.position - std::floor(job.position)) * longest;
            rank.computes = std::min(computes[r] / longest, 1.0);
            if (!job.moves.empty())
                memory_bytes_[static_cast<std::size_t>(at_memory_ ? memory_of(rank)
                                                                  : core(rank.pu).pu->numa)] +=
                    length * rank.computes * job.moves[r] / longer[r];
        } else {
            rank.computes = rank.does == Rank::works ? 1 : 0;
            takes[r] = computes[r] = 0;
        }
        if (rank.does == Rank::sleeps)
            continue;
        const double mpi = length * (1 - rank.computes);
        rank.mpi += mpi;
        rank.wait += std::max(mpi - (longest > 0 ? length * (takes[r] - computes[r]) / longest : 0), 0.0);
        for (std::size_t thread = 0; thread < rank.pus.size(); ++thread) {
            Core &on = core(rank.pus[thread]);
            const auto ranks = static_cast<double>(on.ranks.size());
            const double has = (1 - on.interrupts - on.others - on.stolen) / ranks;
            const double runs = length * has * (job.spins ? 1 : rank.computes);
            if (thread == 0) {
                rank.run += runs;
                rank.queued += length * (1 - 1 / ranks);
                // Who is not bound goes elsewhere where another process has its core.
                if (rank.is_bound)
                    rank.queued += length * on.others * (job.spins ? 1 : rank.computes);
            }
            on.busy += runs;
            on.used += runs / length;
        }
    }
}

void SimulatedSystem::advance(Seconds to) {
    while (now_ < to) {
        const Seconds length = std::min(chunk, to - now_);
        for (Job &each : jobs_)
            if (each.running && each.wanders > 0)
                wander(each, length);
        settle_on_cores();
        for (Core &core : cores_)
            core.used = core.interrupts + core.others;
        for (Job &each : jobs_) {
            if (!each.running)
                continue;
            each.alive_for += length;
            if (!each.suspended)
                run(each, length);
        }
        for (Core &core : cores_)
            if (online_.test(static_cast<std::size_t>(core.pu->os))) {
                core.busy += length * (core.interrupts + core.others);
                core.interrupt += length * core.interrupts;
                core.stole += length * core.stolen;
            }
        now_ = length < chunk ? to : now_ + length;
    }
}

} // namespace rankwise::tune::simulated
