// SPDX-License-Identifier: BSD-3-Clause
#include "act/rank_moves.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <tuple>
#include <unistd.h>

#include "act/cpuset.hpp"
#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_passes = 200;
// Of a process that begins threads meanwhile, one may have its parent's old mask and not be listed yet. Where
// that takes longer, it stays there, and gets back what the others do.
constexpr useconds_t until_listed_us = 200;

bool has_exited(int process) {
    pollfd ended{process, POLLIN, 0};
    return process >= 0 && poll(&ended, 1, 0) > 0;
}

} // namespace

RankMoves::RankMoves(const std::vector<RankMove> &moves, const std::vector<RankSample> &ranks,
                     const Given &given, const std::string &proc, const std::string &sys, Guard &guard,
                     Journal &journal, JournalContent &content)
    : moves_(moves), ranks_(ranks), given_(given), proc_(proc), sys_(sys), guard_(guard), journal_(journal),
      content_(content) {}

PuSet RankMoves::allowed(const std::string &group) const {
    PuSet units;
    for (const auto &[process, had] : given_.processes) {
        if (had.group == group) {
            units |= *had.units;
        }
    }
    const auto ended = given_.ended.find(group);
    return ended == given_.ended.end() ? units : units | ended->second;
}

std::string RankMoves::check(const RankMove &move, Mover &mover) {
    const auto rank = std::ranges::find(ranks_, move.process, &RankSample::process);
    const auto number = std::to_string(move.process.number);
    if (rank == ranks_.end()) {
        return "process " + number + " is none of the ranks";
    }
    mover.move = &move;
    mover.rank = &*rank;
    mover.name = rank->progress ? "rank " + std::to_string(rank->progress->rank) : "process " + number;
    if (move.from.none() || move.to.none()) {
        return mover.name + " is to move from or to no units";
    }
    mover.process = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, move.process.number, 0)));
    mover.task =
        Descriptor(open((proc_ + "/" + number + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto stat = read_task_stat(proc_, move.process.number);
    if (!mover.task || !stat || stat->start != move.process.start || has_exited(mover.process.number())) {
        return mover.name + " ended";
    }
    mover.cpuset = cpuset_of(proc_, sys_, move.process.number);
    for (const auto *const entry : entries_of(content_.threads, move.process)) {
        mover.had.push_back(*entry);
    }
    // Also `from`: what a thread has of `to` goes there.
    if (((move.from | move.to) & ~allowed(rank->group)).any()) {
        return mover.name + " is to go to units that its job was not given";
    }
    if ((move.to & ~mover.cpuset).any()) {
        return mover.name + " is to go to units that its cpuset does not have, or that are offline";
    }
    const auto why = guard_.claim(move.process);
    return why.empty() ? why : mover.name + " " + why;
}

/// @brief Whether a thread that is looked at first has the mask that was seen last, and its rank is where the
/// move begins: whoever has set another one since wants it.
bool RankMoves::is_as_decided(const Mover &mover, const TaskId &thread, const PuSet &mask) const {
    const auto &[process, from, to] = *mover.move;
    const bool keeps_parts = from.count() == to.count(); // else each thread gets all of `to`
    const bool is_known = content_.threads.contains(thread);
    // What was seen has units that are offline, too.
    const auto is = [&](const PuSet &seen) { return mask == seen || mask == cut(seen, mover.cpuset); };
    if (thread == process && ((mask & from).none() || (!is_known && !keeps_parts && !is(from)))) {
        return false;
    }
    if (is_known) { // its entry says what it should have
        return true;
    }
    const auto &threads = mover.rank->threads;
    const auto seen = std::ranges::find(threads, thread, &ThreadSample::id);
    if (seen != threads.end()) {
        return is(seen->mask);
    }
    return keeps_parts ||
           std::ranges::any_of(threads, [&](const ThreadSample &other) { return is(other.mask); });
}

std::string RankMoves::find_thread(Mover &mover, std::int32_t number, const Entries &siblings) {
    Text text;
    const auto process = mover.move->process;
    const auto mask = affinity_of(number);
    const auto path =
        proc_ + "/" + std::to_string(process.number) + "/task/" + std::to_string(number) + "/stat";
    const auto stat = mask && text.read(path) ? parse_task_stat(text.view()) : std::nullopt;
    if (!stat) {
        return {}; // it has ended
    }
    ThreadEntry entry;
    entry.process = process;
    entry.thread = {number, stat->start};
    entry.before = *mask;
    const auto known = content_.threads.find(entry.thread);
    std::optional<PuSet> bound;
    if (written_.empty() && !is_as_decided(mover, entry.thread, *mask)) {
        return "the mask of " + mover.name + " was changed by another process";
    }
    if (known != content_.threads.end() && *mask != known->second.after &&
        *mask != cut(known->second.after, mover.cpuset)) {
        const auto &[set, had] = std::tie(known->second.after, known->second.original);
        if (!is_bound_within(*mask, set, had)) {
            return "the mask of " + mover.name + " was changed by another process";
        }
        bound = exchanged(*mask, set, had);
    }
    mover.seen.insert(number);
    // Of a thread that was born meanwhile, both are possible: it has its parent's mask of before, or of
    // after, or has bound itself to a part of the main thread's.
    const auto is_from = [&](const ThreadEntry &other, const PuSet &set, const PuSet &in_exchange_for) {
        return other.process == process &&
               (set == *mask || (other.thread == process && is_bound_within(*mask, set, in_exchange_for)));
    };
    const auto is_from_moved = [&](const ThreadEntry &other) {
        return is_from(other, other.after, other.before);
    };
    const auto is_from_unmoved = [&](const ThreadEntry &other) {
        return is_from(other, other.before, other.after);
    };
    if (std::ranges::any_of(written_, is_from_moved) && !std::ranges::any_of(written_, is_from_unmoved)) {
        return {};
    }
    const auto original = bound ? bound : original_of(entry.thread, *mask, mover.cpuset, content_, siblings);
    entry.original = original ? *original : to_give_back(proc_, process.number, number, *mask, mover.cpuset);
    const auto &[from, to] = std::tie(mover.move->from, mover.move->to);
    entry.after = from.count() == to.count() ? exchanged(*mask, from, to) : to;
    // Also where it stays: else it would look like one that was born with a mask that is taken back.
    mover.found.push_back(entry);
    return {};
}

std::string RankMoves::find_threads(Mover &mover) {
    std::vector<std::int32_t> numbers;
    mover.found.clear();
    if (has_exited(mover.process.number()) ||
        !list_threads(mover.task.number(), mover.move->process.number, numbers)) {
        return mover.name + " ended";
    }
    // What has its parent's mask of before it was moved has what that had then.
    Entries siblings;
    for (const auto &entry : mover.had) {
        siblings.push_back(&entry);
    }
    for (const auto number : numbers) {
        if (!mover.seen.contains(number)) {
            if (auto why = find_thread(mover, number, siblings); !why.empty()) {
                return why;
            }
        }
    }
    return {};
}

std::string RankMoves::set(Mover &mover, const ThreadEntry &entry) {
    if (entry.after == entry.before) {
        return {};
    }
    // Since it was looked at, the journal was written, which takes a disk its time: the thread may have
    // ended, its number be another's, its mask be what somebody else set meanwhile.
    const int task = mover.task.number();
    const auto number = entry.thread.number;
    if (has_exited(mover.process.number())) {
        return mover.name + " ended";
    }
    const auto found = affinity_of(number);
    if (!found || !is_thread_of(task, number)) {
        return {}; // of the same process, a new thread under this number is none that was seen
    }
    if (*found != entry.before) {
        return "the mask of " + mover.name + " was changed by another process";
    }
    const int problem = set_affinity(proc_, task, number, entry.after);
    if (problem == ESRCH) {
        return {};
    }
    if (problem != 0) {
        return mover.name + " cannot be moved: " + std::strerror(problem);
    }
    const auto mask = affinity_of(number);
    return !mask || *mask == entry.after || !is_thread_of(task, number)
               ? std::string()
               : mover.name + " was not given the units that it should have";
}

std::string RankMoves::pass(bool &changed) {
    std::vector<ThreadEntry> entries;
    std::size_t most = 0;
    for (auto &mover : movers_) {
        if (auto why = find_threads(mover); !why.empty()) {
            return why;
        }
        entries.insert(entries.end(), mover.found.begin(), mover.found.end());
        most = std::max(most, mover.found.size());
    }
    changed = std::ranges::any_of(entries, [](const auto &entry) { return entry.after != entry.before; });
    if (!changed && written_.empty()) {
        return {};
    }
    if (!entries.empty() && !journal_.add(entries, {})) {
        return "the journal cannot be written";
    }
    for (const auto &entry : entries) {
        content_.threads[entry.thread] = entry;
        written_.push_back(entry);
    }
    // The n-th threads of all ranks one behind the other, main threads first: a core has two of them for as
    // long as one system call takes, not until all threads of the first rank have come.
    for (std::size_t i = 0; i < most; ++i) {
        for (auto &mover : movers_) {
            if (i < mover.found.size()) {
                if (auto why = set(mover, mover.found[i]); !why.empty()) {
                    return why;
                }
            }
        }
    }
    return {};
}

std::string RankMoves::run() {
    for (const auto &move : moves_) {
        if (auto why = check(move, movers_.emplace_back()); !why.empty()) {
            return why;
        }
    }
    int quiet = 0;
    for (int i = 0; i < most_passes && quiet < 2; ++i) {
        bool changed = false;
        if (auto why = pass(changed); !why.empty()) {
            return undo(std::move(why));
        }
        if (i == 0 && !changed) {
            return "no thread has a mask that would become another one";
        }
        quiet = changed ? 0 : quiet + 1;
        if (quiet == 1) {
            usleep(until_listed_us);
        }
    }
    if (quiet < 2) {
        return undo("threads are born faster than they can be moved");
    }
    return {};
}

std::string RankMoves::undo(std::string why) {
    if (written_.empty()) {
        return why;
    }
    std::vector<ThreadEntry> entries;
    JournalContent back;
    for (auto entry : written_) {
        std::swap(entry.before, entry.after);
        entries.push_back(entry);
        entry.original = entry.after;
        back.threads[entry.thread] = entry;
    }
    // Where it cannot be written, the last record has both masks all the same.
    journal_.add(entries, {});
    for (const auto &entry : entries) {
        content_.threads[entry.thread] = entry;
    }
    written_.clear();
    if (auto restored = restore(back, proc_, sys_, briefly_us); restored.failed > 0) {
        why += "; " + std::to_string(restored.failed) + " threads cannot be moved back: it is tried again";
        stuck_ = std::move(restored.left);
    }
    return why;
}

} // namespace rankwise::tune
