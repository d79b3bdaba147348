// SPDX-License-Identifier: BSD-3-Clause
#include "act/actor.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "act/cpuset.hpp"
#include "act/rank_moves.hpp"
#include "proc/tasks.hpp"

namespace rankwise::tune {

Actor::Actor(Guard &guard, Journal &journal, std::string proc, std::string sys, bool may_move_interrupts)
    : guard_(guard), journal_(journal), proc_(std::move(proc)), sys_(std::move(sys)),
      may_move_interrupts_(may_move_interrupts), pages_({}, proc_) {}

std::string Actor::apply_interrupts(const std::vector<Change::Interrupt> &interrupts) {
    std::vector<InterruptEntry> entries;
    for (const auto &interrupt : interrupts) {
        const auto mask = interrupt_affinity(proc_, interrupt.number);
        const auto name = "interrupt " + std::to_string(interrupt.number);
        if (!may_move_interrupts_) {
            return name + " may not be moved: `--irq` allows it";
        }
        const auto known = content_.interrupts.find(interrupt.number);
        if (!mask || (interrupt.to.none() && known == content_.interrupts.end())) {
            return name + " is not there, or is to go nowhere";
        }
        InterruptEntry entry{.number = interrupt.number,
                             .original = *mask,
                             .before = *mask,
                             .after = interrupt.to.any() ? interrupt.to : known->second.original};
        if (known != content_.interrupts.end()) {
            if (*mask != known->second.after) {
                return "the affinity of " + name + " was changed by another process";
            }
            entry.original = known->second.original;
        }
        entries.push_back(entry);
    }
    if (entries.empty()) {
        return {};
    }
    if (auto why = guard_.claim_interrupts(); !why.empty()) {
        return "an interrupt " + why;
    }
    if (!journal_.add({}, entries)) {
        return "the journal cannot be written";
    }
    std::vector<InterruptEntry> done;
    for (const auto &entry : entries) {
        content_.interrupts[entry.number] = entry;
        done.push_back(entry);
        if (const int problem = set_interrupt_affinity(proc_, entry.number, entry.after); problem != 0) {
            undo_interrupts(done);
            return "interrupt " + std::to_string(entry.number) +
                   " cannot be moved: " + std::strerror(problem);
        }
    }
    return {};
}

void Actor::undo_interrupts(std::vector<InterruptEntry> &done) {
    for (auto &entry : done) {
        std::swap(entry.before, entry.after);
        content_.interrupts[entry.number] = entry;
        set_interrupt_affinity(proc_, entry.number, entry.after);
    }
    // Where it cannot be written, the last record has both masks all the same.
    journal_.add({}, done);
}

/// It has what it had before the first change.
void Actor::forget_interrupt(std::int32_t number) {
    content_.interrupts.erase(number);
    if (content_.interrupts.empty()) {
        guard_.release([](const TaskId &name) { return name == TaskId{}; });
    }
    if (content_.empty()) {
        journal_.remove();
    }
}

std::string Actor::apply(const Change &change, const std::vector<RankSample> &ranks) {
    const auto is_rank = [&](const Change::Pages &pages) {
        return std::ranges::find(ranks, pages.process, &RankSample::process) != ranks.end();
    };
    if (!std::ranges::all_of(change.pages, is_rank)) {
        return "pages are to be moved of a process that is none of the ranks";
    }
    last_ = {};
    journal_.renew(content_);
    RankMoves moves(change.moves, ranks, proc_, sys_, guard_, journal_, content_);
    if (auto why = change.moves.empty() ? std::string() : moves.run(); !why.empty()) {
        return why;
    }
    if (auto why = apply_interrupts(change.interrupts); !why.empty()) {
        moves.undo();
        return why;
    }
    // Those of a change before that are still on their way are not wanted there any more.
    pages_ = PageMoves(change.pages, proc_);
    are_returning_ = false;
    last_.pages = change.pages;
    for (const auto &pages : change.pages) {
        if (std::ranges::find(change.moves, pages.process, &RankMove::process) != change.moves.end()) {
            homes_.try_emplace(pages.process, pages.from_numa);
        }
    }
    for (const auto &entry : moves.done()) {
        last_.masks.threads.emplace(entry.thread, entry).first->second.original = entry.before;
    }
    for (const auto &interrupt : change.interrupts) {
        if (interrupt.to.none()) {
            forget_interrupt(interrupt.number);
            continue;
        }
        const auto &entry = content_.interrupts.at(interrupt.number);
        last_.masks.interrupts.emplace(entry.number, entry).first->second.original = entry.before;
    }
    return {};
}

std::optional<Seconds> Actor::go_on() {
    if (pages_.done()) {
        return std::nullopt;
    }
    const Seconds next = pages_.step();
    for (std::string &trouble : pages_.troubles()) {
        troubles_.push_back(std::move(trouble));
    }
    return pages_.done() ? std::nullopt : std::optional(next);
}

std::string Actor::undo() {
    // The journal needs no other record: what it says last has both masks.
    const auto restored = tune::restore(last_.masks, proc_, sys_);
    const auto take_back = [](auto &entries, const auto &key, const auto &last) {
        if (const auto entry = entries.find(key); entry != entries.end()) {
            entry->second.before = last.after;
            entry->second.after = last.before;
        }
    };
    for (const auto &[thread, entry] : last_.masks.threads) {
        take_back(content_.threads, thread, entry);
    }
    for (const auto &[number, entry] : last_.masks.interrupts) {
        take_back(content_.interrupts, number, entry);
    }
    if (!last_.pages.empty()) {
        for (auto &pages : last_.pages) {
            std::swap(pages.from_numa, pages.to_numa);
            if (const auto home = homes_.find(pages.process);
                home != homes_.end() && home->second == pages.to_numa) {
                homes_.erase(home);
            }
        }
        are_returning_ = true;
        pages_ = PageMoves(std::exchange(last_.pages, {}), proc_);
    }
    if (restored.failed > 0) {
        return std::to_string(restored.failed) + " threads or interrupts cannot be given back what they had";
    }
    last_ = {};
    return {};
}

std::string Actor::give_back(const std::vector<TaskId> &processes) {
    JournalContent masks;
    for (const auto &[thread, entry] : content_.threads) {
        if (std::ranges::find(processes, entry.process) != processes.end()) {
            masks.threads.emplace(thread, entry);
        }
    }
    // The journal needs no other record: whoever has what it had before the first change stays as it is.
    const auto restored = tune::restore(masks, proc_, sys_);
    if (restored.failed > 0) {
        return std::to_string(restored.failed) + " threads cannot be given back what they had";
    }
    for (const auto &[thread, entry] : masks.threads) {
        auto &known = content_.threads.at(thread);
        known.before = entry.after;
        known.after = entry.original;
    }
    last_ = {};
    return {};
}

Restored Actor::restore() {
    std::vector<Change::Pages> back;
    for (const auto &[process, numa] : homes_) {
        if (!has_ended(proc_, process)) {
            back.push_back({process, 0, numa}); // wherever they come from
        }
    }
    homes_.clear();
    if (!are_returning_) {
        pages_ = PageMoves({}, proc_);
    }
    pages_.add(back);
    auto restored = tune::restore(content_, proc_, sys_);
    content_ = restored.left;
    if (restored.failed == 0) {
        forget(); // else whoever starts next tries again
    }
    return restored;
}

void Actor::forget() {
    content_ = {};
    journal_.remove();
    guard_.release([](const TaskId &) { return true; });
}

void Actor::look(const std::vector<RankSample> &ranks) {
    forget_ended(ranks);
    std::vector<ThreadEntry> changed;
    for (const auto &rank : ranks) {
        heed(rank, changed);
    }
    if (!changed.empty() && journal_.add(changed, {})) {
        for (const auto &entry : changed) {
            content_.threads[entry.thread] = entry;
        }
    }
}

void Actor::forget_ended(const std::vector<RankSample> &ranks) {
    std::set<TaskId> seen;
    for (const auto &rank : ranks) {
        seen.insert(rank.process);
    }
    std::map<TaskId, bool> ended;
    const auto is_gone = [&](const TaskId &process) {
        if (process.number <= 0 || seen.contains(process)) {
            return false;
        }
        const auto [at, is_new] = ended.try_emplace(process, false);
        at->second = is_new ? has_ended(proc_, process) : at->second;
        return at->second;
    };
    const auto forgotten =
        std::erase_if(content_.threads, [&](const auto &item) { return is_gone(item.second.process); });
    guard_.release(is_gone);
    std::erase_if(homes_, [&](const auto &item) { return is_gone(item.first); });
    if (forgotten > 0 && content_.empty()) {
        journal_.remove();
    }
}

void Actor::heed(const RankSample &rank, std::vector<ThreadEntry> &changed) {
    std::optional<PuSet> cpuset;
    for (const auto &thread : rank.threads) {
        const auto known = content_.threads.find(thread.id);
        if (known == content_.threads.end() || thread.mask == known->second.after) {
            continue;
        }
        auto entry = known->second;
        cpuset = cpuset ? cpuset : cpuset_of(proc_, sys_, rank.process.number);
        if ((entry.after & *cpuset).any()) {
            if (thread.mask == cut(entry.after, *cpuset)) {
                continue;
            }
            // somebody else's will
            entry.original = to_give_back(proc_, rank.process.number, thread.id.number, thread.mask, *cpuset);
        }
        // Where none of its units is left, it is the kernel's doing: once they are back, so is what it had.
        entry.before = entry.after;
        entry.after = thread.mask;
        changed.push_back(entry);
    }
}

} // namespace rankwise::tune
