// SPDX-License-Identifier: BSD-3-Clause
// What a tuner does to a simulated node, and what Linux makes of it.
#include "simulated_system.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "error.hpp"

namespace rankwise::tune::simulated {

namespace {

// What ranks lose that are moved: caches, and the threads that move.
constexpr Seconds move_cost = 5e-4;
// That pages move at.
constexpr double bytes_per_s = 1e9;

} // namespace

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

/// As the actor does: a rank that was never moved is to have what was seen last, and one that was moved what
/// the kernel left it of what it was given. What a decision knew is for the tuner to compare.
bool SimulatedSystem::is_changed(const Job &job, const Rank &rank, const RankMove &move) {
    if (job.pinned != Job::nothing) // threads have parts of this
        return rank.mask != move.from;
    const bool keeps_parts = move.from.count() == move.to.count();
    if ((rank.mask & move.from).none())
        return true;
    if (rank.is_tuners)
        return false;
    if (rank.mask != rank.seen || (!keeps_parts && rank.mask != move.from))
        return true;
    if (rank.mask != move.from)
        violations_.push_back(job.name + ": a mask that was set from outside is overridden");
    return false;
}

/// @return why it is not begun
std::string SimulatedSystem::check(const Change &change) {
    const auto goes_back = [](const Change::Interrupt &interrupt) { return interrupt.to.none(); };
    if (!no_journal_.empty() && (!change.moves.empty() || !std::ranges::all_of(change.interrupts, goes_back)))
        return "the journal cannot be written";
    for (const RankMove &move : change.moves) {
        const Found found = find(move.process);
        if (!found.rank)
            return "process " + std::to_string(move.process.number) + " ended";
        if (is_changed(*found.job, *found.rank, move))
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
    }
    return {};
}

/// @return why it cannot be moved
std::string SimulatedSystem::move(const RankMove &move) {
    const Found found = find(move.process);
    if (found.rank->is_fixed)
        return "process " + std::to_string(move.process.number) + " cannot be moved";
    last_.push_back({move.process, found.rank->mask});
    if (!found.rank->is_tuners)
        found.rank->original = seen_to_be_asked(*found.job, *found.rank);
    const bool keeps_parts = move.from.count() == move.to.count();
    ask_as_tuner(*found.job, *found.rank,
                 keeps_parts ? exchanged(found.rank->mask, move.from, move.to) : move.to);
    found.rank->was = move.from;
    return {};
}

void SimulatedSystem::look_for_crowds(Job &job, const std::array<int, most_pus> &had) {
    const auto has = crowds(job, usable(job));
    for (std::size_t pu = 0; pu < most_pus; ++pu)
        if (has[pu] > 1 && has[pu] > had[pu])
            violations_.push_back(job.name + ": two ranks on one unit");
}

std::string SimulatedSystem::apply(const Change &change) {
    if (std::string why = check(change); !why.empty())
        return why;
    if (is_stuck() || is_left_)
        violations_.emplace_back("a change begins before another is taken back everywhere");
    std::map<Job *, std::array<int, most_pus>> before;
    for (const RankMove &move : change.moves) {
        Job *const job = find(move.process).job;
        before.try_emplace(job, crowds(*job, usable(*job)));
    }
    last_.clear();
    last_lines_.clear();
    for (const RankMove &each : change.moves)
        if (std::string why = move(each); !why.empty())
            return take_back(std::move(why));
    for (const auto &[job, had] : before)
        look_for_crowds(*job, had);
    for (const Change::Interrupt &interrupt : change.interrupts) {
        const std::int32_t was = lines_.at(interrupt.number).unit;
        if (std::string why = move_line(interrupt); !why.empty())
            return take_back(std::move(why));
        last_lines_[interrupt.number] = was;
    }
    pages_ = last_pages_ = change.pages;
    pages_there_ = now_ + time_of_pages();
    ++applied_;
    return {};
}

/// As the actor does: a change is done whole or not at all.
std::string SimulatedSystem::take_back(std::string why) {
    take_back_lines();
    last_lines_.clear();
    last_pages_.clear();
    halfway_.insert(halfway_.end(), last_.begin(), last_.end());
    last_.clear();
    if (const std::size_t left = take_back(halfway_); left > 0)
        why += "; " + std::to_string(left) + " threads cannot be moved back: it is tried again";
    return why;
}

/// @return how many cannot be given back what they had: these are left
std::size_t SimulatedSystem::take_back(std::vector<Moved> &moved) {
    std::erase_if(moved, [&](const Moved &each) {
        const Found found = find(each.process);
        if (!found.rank || !found.rank->is_tuners)
            return true;
        if (is_loose(*found.rank))
            ask_as_tuner(*found.job, *found.rank, each.before);
        return is_loose(*found.rank);
    });
    return moved.size();
}

std::size_t SimulatedSystem::take_back_lines() {
    std::erase_if(last_lines_, [&](const auto &each) {
        PuSet before;
        before.set(static_cast<std::size_t>(each.second));
        return move_line({each.first, {}, before}).empty();
    });
    return last_lines_.size();
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
        if (const Found found = find(pages.process);
            found.rank && (found.rank->bound_to < 0 || found.rank->bound_to == pages.to_numa))
            found.rank->home = found.rank->seen_home = pages.to_numa;
    pages_.clear();
    return std::nullopt;
}

PuSet SimulatedSystem::usable(const TaskId &process) {
    const Found found = find(process);
    return found.rank ? usable(*found.job) : PuSet{};
}

std::string SimulatedSystem::undo() {
    const std::size_t left = take_back(last_) + take_back_lines() + take_back(halfway_);
    for (Change::Pages &pages : last_pages_)
        std::swap(pages.from_numa, pages.to_numa);
    pages_ = std::exchange(last_pages_, {});
    pages_there_ = now_ + time_of_pages();
    ++applied_;
    is_left_ = left > 0;
    return left == 0 ? ""
                     : std::to_string(left) + " threads or interrupts cannot be given back what they had";
}

std::string SimulatedSystem::give_back(const std::vector<TaskId> &processes) {
    std::size_t left = 0;
    for (const TaskId &process : processes) {
        const Found found = find(process);
        if (!found.rank || !found.rank->is_tuners)
            continue;
        if (!is_loose(*found.rank)) {
            ++left;
            continue;
        }
        ask_as_tuner(*found.job, *found.rank, found.rank->original);
        found.rank->was = found.rank->mask;
        std::erase_if(halfway_, [&](const Moved &moved) { return moved.process == process; });
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
    halfway_.clear();
    for (Job &each : jobs_)
        for (Rank &rank : each.ranks) {
            if (!each.running || !rank.alive || !rank.is_tuners ||
                (rank.mask == rank.original && rank.asked == rank.original))
                continue;
            if (!is_loose(rank))
                ++given.failed;
            else if (ask_as_tuner(each, rank, rank.original))
                ++given.threads;
        }
    for (const auto &[number, line] : lines_)
        if (line.unit != line.original)
            ++(move_line({number, {}, {}}).empty() ? given.interrupts : given.failed);
    return given;
}

void SimulatedSystem::loosen() {
    stuck_ = false;
    for (Job &each : jobs_)
        for (Rank &rank : each.ranks)
            rank.is_stuck = rank.is_fixed = false;
    for (auto &[number, line] : lines_)
        line.fixed = false;
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
