// SPDX-License-Identifier: BSD-3-Clause
#include "act/actor.hpp"

#include <algorithm>
#include <cstring>

#include "act/rank_moves.hpp"

namespace rankwise::tune {

Actor::Actor(Journal &journal, std::string proc, std::string sys, bool may_move_interrupts)
    : journal_(journal), proc_(std::move(proc)), sys_(std::move(sys)),
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
    if (!entries.empty() && !journal_.add({}, entries)) {
        return "the journal cannot be written";
    }
    for (auto at = entries.begin(); at != entries.end(); ++at) {
        content_.interrupts[at->number] = *at;
        const int problem = set_interrupt_affinity(proc_, at->number, at->after);
        if (problem == 0) {
            continue;
        }
        for (auto done = entries.begin(); done != at; ++done) {
            std::swap(done->before, done->after);
            set_interrupt_affinity(proc_, done->number, done->after);
            content_.interrupts[done->number] = *done;
        }
        std::swap(at->before, at->after);
        content_.interrupts[at->number] = *at;
        return "interrupt " + std::to_string(at->number) + " cannot be moved: " + std::strerror(problem);
    }
    return {};
}

std::string Actor::apply(const Change &change, const std::vector<RankSample> &ranks) {
    const auto is_rank = [&](const Change::Pages &pages) {
        return std::ranges::find(ranks, pages.process, &RankSample::process) != ranks.end();
    };
    if (!std::ranges::all_of(change.pages, is_rank)) {
        return "pages are to be moved of a process that is none of the ranks";
    }
    last_ = {};
    RankMoves moves(change.moves, ranks, proc_, sys_, journal_, content_);
    if (auto why = change.moves.empty() ? std::string() : moves.run(); !why.empty()) {
        return why;
    }
    if (auto why = apply_interrupts(change.interrupts); !why.empty()) {
        moves.undo();
        return why;
    }
    // Those of a change before that are still on their way are not wanted there any more.
    pages_ = PageMoves(change.pages, proc_);
    last_.pages = change.pages;
    for (const auto &entry : moves.done()) {
        last_.masks.threads.emplace(entry.thread, entry).first->second.original = entry.before;
    }
    for (const auto &interrupt : change.interrupts) {
        const auto &entry = content_.interrupts.at(interrupt.number);
        last_.masks.interrupts.emplace(entry.number, entry).first->second.original = entry.before;
    }
    journal_.shorten(content_);
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
        }
        pages_ = PageMoves(std::exchange(last_.pages, {}), proc_);
    }
    if (restored.failed > 0) {
        return std::to_string(restored.failed) + " threads or interrupts cannot be given back what they had";
    }
    last_ = {};
    return {};
}

Restored Actor::restore() {
    pages_ = PageMoves({}, proc_);
    const auto restored = tune::restore(content_, proc_, sys_);
    content_ = {};
    if (restored.failed == 0) {
        journal_.remove(); // else whoever starts next tries again
    }
    return restored;
}

void Actor::forget() {
    content_ = {};
    journal_.remove();
}

void Actor::keep_only(const std::vector<RankSample> &ranks) {
    std::erase_if(content_.threads, [&](const auto &item) {
        return std::ranges::find(ranks, item.second.process, &RankSample::process) == ranks.end();
    });
    if (content_.empty()) {
        journal_.remove();
    }
}

} // namespace rankwise::tune
