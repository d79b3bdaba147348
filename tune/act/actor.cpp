// SPDX-License-Identifier: BSD-3-Clause
#include "act/actor.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "act/cpuset.hpp"
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
                if (interrupt.to.none()) { // what somebody else set stays
                    continue;
                }
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
    // What is as before the first change needs no other record.
    const auto is_back = [](const auto &entry) { return entry.after == entry.original; };
    if (!journal_.add({}, entries) && !std::ranges::all_of(entries, is_back)) {
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
    for (const auto &entry : done) {
        forget_if_as_before(entry.number);
    }
}

/// What is as it was before the first change is not the tuner's any more.
void Actor::forget_if_as_before(std::int32_t number) {
    const auto known = content_.interrupts.find(number);
    if (known != content_.interrupts.end() && known->second.after == known->second.original &&
        interrupt_affinity(proc_, number) == known->second.original) {
        forget_interrupt(number);
    }
}

/// It has what it had before the first change, or what somebody else set.
void Actor::forget_interrupt(std::int32_t number) {
    const auto known = content_.interrupts.find(number);
    if (known == content_.interrupts.end()) {
        return;
    }
    // Else whoever reads the journal would take what somebody else sets for what this tuner did.
    auto entry = known->second;
    entry.before = entry.after = entry.original;
    journal_.add({}, {entry});
    content_.interrupts.erase(known);
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
    RankMoves moves(change.moves, ranks, given_, proc_, sys_, guard_, journal_, content_);
    auto why = change.moves.empty() ? std::string() : moves.run();
    if (why.empty()) {
        why = apply_interrupts(change.interrupts);
        why = why.empty() ? why : moves.undo(std::move(why));
    }
    if (!why.empty()) {
        for (const auto &[thread, entry] : moves.stuck().threads) { // beside what is left of a change before
            stuck_.threads.insert_or_assign(thread, entry);
        }
        stick(moves.stuck());
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
        unsettled_.erase(entry.thread);
        stuck_.threads.erase(entry.thread);
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
    touched_.merge(pages_.touched());
    for (std::string &trouble : pages_.troubles()) {
        troubles_.push_back(std::move(trouble));
    }
    return pages_.done() ? std::nullopt : std::optional(next);
}

std::string Actor::undo() {
    // The journal needs no other record: what it says last has both masks.
    const auto restored = tune::restore(last_.masks, proc_, sys_, briefly_us);
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
        forget_if_as_before(number);
    }
    if (!last_.pages.empty()) {
        for (const auto &pages : last_.pages) {
            if (const auto home = homes_.find(pages.process);
                home != homes_.end() && home->second == pages.from_numa) {
                homes_.erase(home);
            }
        }
        are_returning_ = true;
        pages_.turn_back();
        last_.pages.clear();
    }
    for (const auto &[thread, entry] : last_.masks.threads) {
        unsettled_.erase(thread);
    }
    if (restored.failed > 0) {
        stick(restored.left);
    } else {
        last_ = {};
    }
    try_again();
    const auto failed = restored.failed + stuck_.threads.size();
    return failed == 0 ? std::string()
                       : std::to_string(failed) + " threads or interrupts cannot be given back what they had";
}

/// What could not be taken back may have either mask until it can.
void Actor::stick(const JournalContent &left) {
    for (const auto &[thread, entry] : left.threads) {
        unsettled_.insert(thread);
    }
}

void Actor::try_again() {
    if (stuck_.threads.empty()) {
        return;
    }
    const auto before = std::exchange(stuck_, tune::restore(stuck_, proc_, sys_, briefly_us).left);
    for (const auto &[thread, entry] : before.threads) {
        const auto known = content_.threads.find(thread);
        if (!stuck_.threads.contains(thread) && known != content_.threads.end()) {
            known->second.before = entry.before;
            known->second.after = entry.after;
            unsettled_.erase(thread);
        }
    }
}

std::string Actor::give_back(const std::vector<TaskId> &processes) {
    JournalContent masks;
    for (const auto &[thread, entry] : content_.threads) {
        if (std::ranges::find(processes, entry.process) != processes.end()) {
            masks.threads.emplace(thread, entry);
        }
    }
    // The journal needs no other record: whoever has what it had before the first change stays as it is.
    const auto restored = tune::restore(masks, proc_, sys_, briefly_us);
    for (const auto &[thread, entry] : masks.threads) {
        if (restored.left.threads.contains(thread)) {
            continue;
        }
        unsettled_.erase(thread);
        stuck_.threads.erase(thread);
        auto &known = content_.threads.at(thread);
        known.before = entry.after;
        known.after = entry.original;
    }
    if (restored.failed > 0) {
        return std::to_string(restored.failed) + " threads cannot be given back what they had";
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
    auto restored = tune::restore(content_, proc_, sys_, for_good_us);
    content_ = restored.left;
    stuck_ = {};
    if (restored.failed == 0) {
        forget(); // else whoever starts next tries again
    }
    return restored;
}

void Actor::forget() {
    content_ = {};
    stuck_ = {};
    unsettled_.clear();
    journal_.remove();
    guard_.release([](const TaskId &) { return true; });
}

std::string Actor::look(const std::vector<RankSample> &ranks) {
    forget_ended(ranks);
    const bool is_kept = journal_.keep_directory() && (content_.empty() || journal_.keep(content_));
    std::vector<ThreadEntry> changed;
    const auto unsettled = unsettled_;
    settle(ranks, changed);
    for (const auto &rank : ranks) {
        heed(rank, changed); // behind it: of two entries of a thread the last counts
    }
    if (!changed.empty() && !journal_.add(changed, {})) {
        unsettled_ = unsettled; // it is looked at once more
    } else {
        for (const auto &entry : changed) {
            content_.threads[entry.thread] = entry;
            if (entry.before == entry.after) { // there is nothing to be taken back
                stuck_.threads.erase(entry.thread);
                last_.masks.threads.erase(entry.thread);
            }
        }
    }
    try_again(); // behind what the ranks were seen with
    learn_units(ranks);
    return is_kept ? std::string()
                   : "the journal is gone, and cannot be made again in `" + journal_.state() + "`";
}

void Actor::learn_units(const std::vector<RankSample> &ranks) {
    std::map<TaskId, Entries> entries;
    for (const auto &[id, entry] : content_.threads) {
        entries[entry.process].push_back(&entry);
    }
    const auto all = PuSet{}.set(); // whatever its cpuset is
    for (const auto &rank : ranks) {
        const auto &siblings = entries[rank.process];
        PuSet units;
        std::set<const PuSet *> known; // masks of threads without an entry: most have the same
        for (const auto &thread : rank.threads) {
            if (content_.threads.contains(thread.id) || known.insert(&*thread.mask).second) {
                units |= original_of(thread.id, thread.mask, all, content_, siblings).value_or(thread.mask);
            }
        }
        // Others than before: somebody has moved it.
        auto &had = given_.processes[rank.process];
        had.group = rank.group;
        if ((units & ~*had.units).any()) {
            had.units = units;
        }
    }
}

/// What the processes of a job had that have ended is its others' until none is left.
void Actor::forget_given(const std::function<bool(const TaskId &)> &is_gone) {
    std::set<std::string> left;
    std::erase_if(given_.processes, [&](const auto &item) {
        const auto &[process, had] = item;
        if (!is_gone(process)) {
            left.insert(had.group);
            return false;
        }
        given_.ended[had.group] |= *had.units;
        return true;
    });
    std::erase_if(given_.ended, [&](const auto &item) { return !left.contains(item.first); });
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
    forget_given(is_gone);
    std::erase_if(stuck_.threads, [&](const auto &item) { return is_gone(item.second.process); });
    std::erase_if(unsettled_, [&](const TaskId &thread) { return !content_.threads.contains(thread); });
    if (forgotten > 0 && content_.empty()) {
        journal_.remove();
    }
}

/// All threads are known now: of two masks that the last change knew, the one that none has is the tuner's no
/// more, but whoever takes it himself. Threads that have ended left nothing but what others have from them.
void Actor::settle(const std::vector<RankSample> &ranks, std::vector<ThreadEntry> &changed) {
    if (content_.threads.empty()) {
        return;
    }
    std::map<TaskId, std::pair<const RankSample *, std::set<TaskId>>> seen;
    for (const auto &rank : ranks) {
        auto &[sample, threads] = seen[rank.process];
        sample = &rank;
        for (const auto &thread : rank.threads) {
            threads.insert(thread.id);
        }
    }
    std::erase_if(content_.threads, [&](const auto &item) {
        const ThreadEntry &entry = item.second;
        const auto rank = seen.find(entry.process);
        if (rank == seen.end() || rank->second.second.empty()) {
            return false;
        }
        const auto &[sample, threads] = rank->second;
        const auto has = [](const Mask &mask) {
            return [&mask](const ThreadSample &thread) { return thread.mask == mask; };
        };
        if (!threads.contains(entry.thread) && entry.thread != entry.process) {
            const auto main = content_.threads.find(entry.process);
            const bool is_as_main = main != content_.threads.end() && main->second.after == entry.after &&
                                    main->second.original == entry.original;
            if (is_as_main || (std::ranges::none_of(sample->threads, has(entry.before)) &&
                               std::ranges::none_of(sample->threads, has(entry.after)))) {
                return true;
            }
        }
        // What was applied last may be undone, without another record: then its masks before are the tuner's.
        if (entry.before != entry.after && !last_.masks.threads.contains(item.first) &&
            !unsettled_.contains(item.first) && std::ranges::none_of(sample->threads, has(entry.before))) {
            changed.push_back(entry);
            changed.back().before = entry.after;
        }
        return false;
    });
}

/// What would be taken back of one thread would be of another one, too.
void Actor::take_back_alike(const TaskId &from, const TaskId &thread) {
    for (auto *const of : {&last_.masks.threads, &stuck_.threads}) {
        of->erase(thread);
        if (const auto known = of->find(from); known != of->end()) {
            auto copy = known->second;
            copy.thread = thread;
            of->emplace(thread, copy);
        }
    }
}

/// @brief Of whom threads of a process have their masks: each mask is looked for once, as most have the same.
class Actor::Parents {
  public:
    /// @param[in] threads what the journal says; must outlive this, as the cpuset, and stay as it is
    Parents(const std::map<TaskId, ThreadEntry> &threads, const TaskId &process, const PuSet &cpuset)
        : siblings_(entries_of(threads, process)), cpuset_(cpuset) {}

    const ThreadEntry *of(const Mask &mask) {
        const auto [at, is_new] = known_.try_emplace(&*mask, nullptr);
        if (is_new) {
            at->second = inherited_from(mask, cpuset_, siblings_);
        }
        return at->second;
    }

  private:
    Entries siblings_;
    const PuSet &cpuset_;
    std::map<const PuSet *, const ThreadEntry *> known_;
};

/// Threads that have their mask from one whose entry will say something else get entries of their own.
/// @param[in] from in what the journal says
void Actor::keep_origins(const RankSample &rank, const ThreadEntry &from, const PuSet &cpuset,
                         Parents &parents, std::vector<ThreadEntry> &changed) {
    const bool is_main = from.thread == from.process;
    for (const auto &thread : rank.threads) {
        if (content_.threads.contains(thread.id)) {
            continue;
        }
        ThreadEntry entry = from;
        entry.thread = thread.id;
        const auto *const parent = parents.of(thread.mask);
        if (parent == nullptr && is_main) {
            if (const auto *const set = bound_within(thread.mask, from)) {
                entry.original = exchanged(thread.mask, *set, from.original);
                entry.before = entry.after = thread.mask;
                changed.push_back(entry);
            }
        }
        if (parent != &from) {
            continue;
        }
        if (thread.mask != from.after && thread.mask != cut(from.after, cpuset)) {
            std::swap(entry.before, entry.after);
        }
        changed.push_back(entry);
        take_back_alike(from.thread, thread.id);
    }
}

/// @return the entry of the thread that executed a program, and has the main thread's number and its own mask
/// since: none but the main one is there of those that have entries. Null: it is not known
const ThreadEntry *Actor::executor_of(const RankSample &rank, const PuSet &cpuset) const {
    const auto is_other = [&](const ThreadSample &thread) {
        return thread.id != rank.process && content_.threads.contains(thread.id);
    };
    if (std::ranges::any_of(rank.threads, is_other)) {
        return nullptr;
    }
    auto others = entries_of(content_.threads, rank.process);
    std::erase_if(others, [&](const ThreadEntry *entry) { return entry->thread == rank.process; });
    return inherited_from(rank.threads.front().mask, cpuset, others);
}

void Actor::heed(const RankSample &rank, std::vector<ThreadEntry> &changed) {
    std::optional<PuSet> cpuset;
    std::optional<Parents> parents;
    for (const auto &thread : rank.threads) {
        const auto known = content_.threads.find(thread.id);
        if (known == content_.threads.end() || thread.mask == known->second.after) {
            continue;
        }
        auto entry = known->second;
        if (!cpuset) {
            cpuset = cpuset_of(proc_, sys_, rank.process.number);
            parents.emplace(content_.threads, rank.process, *cpuset);
        }
        if (unsettled_.contains(thread.id) &&
            (thread.mask == entry.before ||
             ((*entry.before & *cpuset).any() && thread.mask == cut(entry.before, *cpuset)))) {
            std::swap(entry.before, entry.after);
            changed.push_back(entry);
            if (!stuck_.threads.contains(thread.id) && !last_.masks.threads.contains(thread.id)) {
                unsettled_.erase(thread.id);
            }
            continue;
        }
        const bool may_have_executed = thread.id == rank.process && thread.mask != cut(entry.after, *cpuset);
        if (const auto *const executor = may_have_executed ? executor_of(rank, *cpuset) : nullptr) {
            entry = *executor;
            entry.thread = thread.id;
            changed.push_back(entry);
            take_back_alike(executor->thread, thread.id);
            continue;
        }
        if ((*entry.after & *cpuset).any()) {
            // What its runtime has bound it to since is mapped back with the rest.
            if (thread.mask == cut(entry.after, *cpuset) ||
                is_bound_within(thread.mask, entry.after, entry.original)) {
                continue;
            }
            if (affinity_of(thread.id.number) != thread.mask) {
                continue; // another one since, or another cpuset: the next look will tell
            }
            // somebody else's will
            keep_origins(rank, known->second, *cpuset, *parents, changed);
            entry.original = to_give_back(proc_, rank.process.number, thread.id.number, thread.mask, *cpuset);
            entry.before = entry.after = thread.mask;
            changed.push_back(entry);
            unsettled_.erase(thread.id);
            continue;
        }
        // None of its units is left, and it is the kernel's doing: once they are back, so is what it had.
        unsettled_.insert(thread.id);
        keep_origins(rank, known->second, *cpuset, *parents, changed);
        entry.before = entry.after;
        entry.after = thread.mask;
        changed.push_back(entry);
    }
}

} // namespace rankwise::tune
