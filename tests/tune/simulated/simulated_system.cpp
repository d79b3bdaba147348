// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "error.hpp"

namespace rankwise::tune::simulated {

namespace {

constexpr Seconds chunk = 0.02;
// How long the factor of noise is like itself.
constexpr Seconds remembered = 0.5;
// What ranks lose that are moved: caches, and the threads that move.
constexpr Seconds move_cost = 5e-4;
// That pages move at.
constexpr double bytes_per_s = 1e9;
// As on Linux, samples that are not asked for other movers look for them so often.
constexpr Seconds between_looks_for_movers = 10;
// How much slower a thread is beside one that computes, and beside one that spins.
constexpr double beside_busy = 0.65, beside_spinning = 0.25;
// Seconds a byte by what two ranks share, as in `levels` of decide/problem.hpp: nothing .. core.
constexpr double per_byte[] = {1e-9, 6e-10, 3e-10, 2.5e-10, 1e-10, 8e-11, 8e-11};

std::int32_t common(const Pu &a, const Pu &b) {
    std::int32_t level = 1;
    for (const auto part : {&Pu::package, &Pu::numa, &Pu::l3, &Pu::l2, &Pu::core}) {
        if (a.*part < 0 || a.*part != b.*part)
            break;
        ++level;
    }
    return level;
}

std::vector<std::uint64_t> pages_on(std::int32_t home, double bytes) {
    std::vector<std::uint64_t> pages(static_cast<std::size_t>(home + 1));
    if (!pages.empty())
        pages.back() = static_cast<std::uint64_t>(bytes / 4096);
    return pages;
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

SimulatedSystem::SimulatedSystem(Node node, std::uint64_t seed)
    : node_(std::move(node)), cores_(node_.pus.size()), random_(seed) {
    for (const Pu &pu : node_.pus) {
        Core &core = cores_.at(static_cast<std::size_t>(pu.os));
        core.pu = &pu;
        online_.set(static_cast<std::size_t>(pu.os));
        for (const Pu &other : node_.pus)
            if (other.os != pu.os && other.core == pu.core)
                core.beside.push_back(other.os);
        memory_bytes_.resize(std::max(memory_bytes_.size(), static_cast<std::size_t>(pu.numa) + 1));
    }
}

SimulatedSystem::Found SimulatedSystem::find(const TaskId &process) {
    for (Job &job : jobs_)
        for (Rank &rank : job.ranks)
            if (job.running && rank.alive && rank.process == process)
                return {&job, &rank};
    return {};
}

Job &SimulatedSystem::job(const std::string &name) {
    const auto found =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const Job &each) { return each.name == name; });
    if (found == jobs_.end())
        throw Error("no job `" + name + "` in the scenario");
    return *found;
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

/// As Linux does: a cpuset of which nothing is online is as if there were none.
PuSet SimulatedSystem::usable(const Job &job) const {
    return cut(cpusets_.at(job.name), online_);
}

/// As Linux does: a task that has no unit left runs on all of its cpuset.
void SimulatedSystem::put_in_force(const Job &job, Rank &rank) {
    rank.mask = cut(rank.asked, usable(job));
    settled_ = false;
    if (!rank.mask.test(static_cast<std::size_t>(std::max(rank.pu, 0))))
        rank.pu = -1;
}

/// @return false if it has none of these units
bool SimulatedSystem::ask(const Job &job, Rank &rank, const PuSet &mask) {
    if ((mask & usable(job)).none())
        return false;
    rank.asked = mask;
    put_in_force(job, rank);
    return true;
}

/// As the actor does: where none of the units can be had, it asks for what the kernel would give.
/// @return whether it has another mask now
bool SimulatedSystem::ask_as_tuner(Job &job, Rank &rank, const PuSet &mask) {
    const PuSet before = rank.mask;
    rank.is_tuners = true;
    if (!ask(job, rank, mask))
        ask(job, rank, usable(job));
    if (rank.mask == before)
        return false;
    job.stalled = std::max(job.stalled, move_cost);
    return true;
}

/// Units came or went: what was asked for last is not forgotten.
void SimulatedSystem::cut_anew(Job &job) {
    for (Rank &rank : job.ranks) {
        put_in_force(job, rank);
        allowed_[job.name] |= rank.mask;
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
    if (!std::all_of(job.ranks.begin(), job.ranks.end(), [](const Rank &rank) { return rank.alive; })) {
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
            takes[r] += 2 * job.bytes * per_byte[common(a, b)] / std::min({gets[r], gets[other], 1.0});
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
                memory_bytes_[static_cast<std::size_t>(core(rank.pu).pu->numa)] +=
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
        found.pages_by_numa = pages_on(rank.seen_home, job.bytes_of_rank);
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
    Sample found;
    found.at = now_;
    found.light = light;
    for (const Job &each : jobs_)
        for (std::size_t r = 0; each.running && r < each.ranks.size(); ++r)
            if (each.ranks[r].alive)
                found.ranks.push_back(sample_of(each, each.ranks[r], static_cast<std::int32_t>(r), light));
    if (light)
        return found;
    for (const Core &core : cores_) {
        const std::int32_t os = core.pu->os;
        PuSample pu{.os = os,
                    .online = online_.test(static_cast<std::size_t>(os)),
                    .busy = core.busy,
                    .interrupt = core.interrupt,
                    .stolen = core.stole};
        pu.isolated = core.isolated;
        pu.capacity = core.capacity;
        // schedutil: what is hardly used is slow because of that.
        pu.clock = core.clock * std::clamp(1.25 * core.used, 0.3, 1.0);
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
    return found;
}

Sample SimulatedSystem::sample_with_movers() {
    movers_due_ = now_;
    return sample(false);
}

namespace {

/// A rank that its launcher, or the kernel when its cpuset changed, lets run on several units; or that has
/// such a set of another's by exchange.
bool is_spread(const Job &job, const Rank &rank, const PuSet &usable) {
    const auto has = [&](const Rank &other) { return other.mask == rank.mask; };
    const auto had = [&](const Rank &other) { return cut(other.original, usable) == rank.mask; };
    return rank.mask.count() > 1 &&
           (rank.mask == usable || had(rank) ||
            std::ranges::count_if(job.ranks, has) <= std::ranges::count_if(job.ranks, had));
}

/// How many bound ranks each unit has.
std::array<int, most_pus> crowds(const Job &job, const PuSet &usable) {
    std::array<int, most_pus> count{};
    for (const Rank &rank : job.ranks)
        if (rank.alive && !is_spread(job, rank, usable))
            for (std::size_t pu = rank.mask._Find_first(); pu < most_pus; pu = rank.mask._Find_next(pu))
                ++count[pu];
    return count;
}

} // namespace

/// As far as the actor can see: what a cpuset has taken does not show. Who has all of it may have what comes
/// to it, too.
PuSet SimulatedSystem::seen_to_be_asked(const Job &job, const Rank &rank) const {
    if (rank.mask == usable(job))
        return PuSet{}.set();
    const PuSet whole = rank.asked & cpusets_.at(job.name); // with units that are offline, as /proc says
    return (whole & online_) == rank.mask ? whole : rank.mask;
}

std::string SimulatedSystem::move_line(const Change::Interrupt &interrupt) {
    Line &line = lines_.at(interrupt.number);
    if (interrupt.from.any() && !interrupt.from.test(static_cast<std::size_t>(line.unit)))
        violations_.push_back("interrupt " + std::to_string(interrupt.number) +
                              " is not where it is said to be");
    if (line.fixed)
        return "interrupt " + std::to_string(interrupt.number) + " cannot be moved";
    core(line.unit).interrupts -= line.takes;
    line.unit = interrupt.to.any() ? static_cast<std::int32_t>(interrupt.to._Find_first()) : line.original;
    core(line.unit).interrupts += line.takes;
    return {};
}

std::vector<std::uint64_t> SimulatedSystem::pages_by_numa(const TaskId &process) {
    const Found found = find(process);
    if (!found.rank)
        return {};
    found.rank->seen_home = found.rank->home;
    return pages_on(found.rank->home, found.job->bytes_of_rank);
}

std::string SimulatedSystem::apply(const Change &change) {
    const auto goes_back = [](const Change::Interrupt &interrupt) { return interrupt.to.none(); };
    if (!no_journal_.empty() && (!change.moves.empty() || !std::ranges::all_of(change.interrupts, goes_back)))
        return "the journal cannot be written";
    std::map<Job *, std::array<int, most_pus>> before;
    for (const RankMove &move : change.moves) {
        const Found found = find(move.process);
        if (!found.rank)
            return "process " + std::to_string(move.process.number) + " ended";
        if (found.rank->mask != move.from)
            return "the mask of process " + std::to_string(move.process.number) +
                   " was changed by another process";
        if ((move.to & ~allowed_[found.job->name]).any())
            violations_.push_back(found.job->name + ": asked for units it may not use");
        if ((move.to & ~usable(*found.job)).any())
            return "its cpuset does not have these processing units";
        // What was begun before may be undone.
        const bool fights = movers_.contains("numad") || movers_.contains("sched_ext") ||
                            (movers_.contains("AutoNUMA") && move.from.count() != move.to.count());
        if (fights && move.to != found.rank->was)
            violations_.push_back(found.job->name + ": moved beside another mover");
        before.try_emplace(found.job, crowds(*found.job, usable(*found.job)));
    }
    last_.clear();
    for (const RankMove &move : change.moves) {
        const Found found = find(move.process);
        last_.push_back({move.process, found.rank->mask});
        if (!found.rank->is_tuners)
            found.rank->original = seen_to_be_asked(*found.job, *found.rank);
        ask_as_tuner(*found.job, *found.rank, move.to);
        found.rank->was = move.from;
    }
    for (const auto &[job, had] : before) {
        const auto has = crowds(*job, usable(*job));
        for (std::size_t pu = 0; pu < most_pus; ++pu)
            if (has[pu] > 1 && has[pu] > had[pu])
                violations_.push_back(job->name + ": two ranks on one unit");
    }
    pages_ = last_pages_ = change.pages;
    pages_there_ = now_ + time_of_pages();
    last_lines_.clear();
    for (const Change::Interrupt &interrupt : change.interrupts) {
        const std::int32_t was = lines_.at(interrupt.number).unit;
        if (std::string why = move_line(interrupt); !why.empty())
            return why;
        last_lines_[interrupt.number] = was;
    }
    ++applied_;
    return {};
}

/// That they are on their way.
Seconds SimulatedSystem::time_of_pages() {
    Seconds takes = 0;
    for (const Change::Pages &pages : pages_)
        if (const Found found = find(pages.process); found.job)
            takes += found.job->bytes_of_rank / bytes_per_s;
    return takes;
}

std::optional<Seconds> SimulatedSystem::go_on() {
    if (now_ < pages_there_ && !pages_.empty())
        return std::min(now_ + 0.04, pages_there_);
    for (const Change::Pages &pages : pages_)
        if (const Found found = find(pages.process); found.rank)
            found.rank->home = found.rank->seen_home = pages.to_numa;
    pages_.clear();
    return std::nullopt;
}

PuSet SimulatedSystem::usable(const TaskId &process) {
    const Found found = find(process);
    return found.rank ? usable(*found.job) : PuSet{};
}

std::string SimulatedSystem::undo() {
    if (stuck_)
        return "1 threads or interrupts cannot be given back what they had";
    std::erase_if(last_, [&](const Moved &moved) {
        const Found found = find(moved.process);
        if (!found.rank || !found.rank->is_tuners)
            return true;
        if (!found.rank->is_stuck)
            ask_as_tuner(*found.job, *found.rank, moved.before);
        return !found.rank->is_stuck;
    });
    const std::size_t left = last_.size();
    for (const auto &[number, unit] : std::exchange(last_lines_, {})) {
        PuSet before;
        before.set(static_cast<std::size_t>(unit));
        move_line({number, {}, before});
    }
    for (Change::Pages &pages : last_pages_)
        std::swap(pages.from_numa, pages.to_numa);
    pages_ = std::exchange(last_pages_, {});
    pages_there_ = now_ + time_of_pages();
    ++applied_;
    return left == 0 ? ""
                     : std::to_string(left) + " threads or interrupts cannot be given back what they had";
}

std::string SimulatedSystem::give_back(const std::vector<TaskId> &processes) {
    std::size_t left = 0;
    for (const TaskId &process : processes) {
        const Found found = find(process);
        if (!found.rank || !found.rank->is_tuners)
            continue;
        if (stuck_ || found.rank->is_stuck) {
            ++left;
            continue;
        }
        ask_as_tuner(*found.job, *found.rank, found.rank->original);
        found.rank->was = found.rank->mask;
    }
    if (left > 0)
        return std::to_string(left) + " threads cannot be given back what they had";
    last_.clear();
    ++applied_;
    return {};
}

GivenBack SimulatedSystem::restore() {
    GivenBack given;
    pages_.clear();
    for (Job &each : jobs_)
        for (Rank &rank : each.ranks)
            if (rank.is_tuners && ask_as_tuner(each, rank, rank.original))
                ++given.threads;
    for (const auto &[number, line] : lines_)
        if (line.unit != line.original)
            ++(move_line({number, {}, {}}).empty() ? given.interrupts : given.failed);
    return given;
}

void SimulatedSystem::check_restored() {
    for (const Job &each : jobs_)
        for (const Rank &rank : each.ranks) {
            if (!each.running || !rank.alive)
                continue;
            const PuSet given = cut(rank.original, usable(each));
            if (rank.mask != given)
                violations_.push_back(each.name + ": a mask was not given back");
            else if (rank.asked != rank.original && (rank.asked != given || (rank.original & given).any()))
                violations_.push_back(each.name + ": a cpuset that grows gives what the tuner asked for");
        }
    for (const auto &[number, line] : lines_)
        if (line.unit != line.original)
            violations_.push_back("interrupt " + std::to_string(number) + " was not given back");
}

} // namespace rankwise::tune::simulated
