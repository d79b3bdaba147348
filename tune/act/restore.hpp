// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "act/journal.hpp"
#include "given_back.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// How long threads are waited for that may be beginning another one (Births): while the tuner goes on, and
/// looks again, and where nobody does.
inline constexpr useconds_t briefly_us = 200, for_good_us = 1'000'000;

/// @brief What a journal's processes were given back.
struct Restored : GivenBack {
    JournalContent left;  ///< what failed, to be tried again
    bool damaged = false; ///< there is a STATE/journal.damaged, which nothing can be restored from
    bool all() const { return failed == 0 && !damaged; }
};

/// @return what was given back and what could not be, as a sentence; empty if there was nothing
std::string restored_text(const Restored &restored);

using Entries = std::vector<const ThreadEntry *>;

/// @return those of the threads of one process
Entries entries_of(const std::map<TaskId, ThreadEntry> &threads, const TaskId &process);

/// @brief Of the entries of one process, the one that a thread without an entry inherited its mask from: that
/// of a thread that has this mask before those that had it, and the main thread's before others.
/// @param[in] with_before those whose threads have the mask of `before`; the others have that of `after`
/// @return null: of none of them; it made its mask itself
const ThreadEntry *inherited_from(const PuSet &mask, const PuSet &cpuset, const Entries &entries,
                                  const std::set<const ThreadEntry *> &with_before = {});

/// @return of the two masks that the last change knew, the one that a thread has bound itself within; null:
/// within none
const PuSet *bound_within(const PuSet &mask, const ThreadEntry &entry);

/// @brief What a thread without an entry had before the first change, by that of the thread which it has its
/// mask from, or by the main thread's, where it has bound itself within that.
/// @return none: it had what it has
std::optional<PuSet> inherited_original(const PuSet &mask, const PuSet &cpuset, const Entries &entries);

/// @brief What a thread that has this mask had before the first change.
/// @param[in] siblings entries of its process
/// @return none: what it has, unless somebody has given it another one
std::optional<PuSet> original_of(const TaskId &thread, const PuSet &mask, const PuSet &cpuset,
                                 const JournalContent &content, const Entries &siblings);

/// @brief Give each thread its original mask that has what was set last, or that cut by its cpuset; threads
/// that were born under a changed mask get that of the thread they have it from, the main thread before
/// others; one that executed a program gets its own, though it has the main thread's number since. A thread
/// that is bound within what was set is bound within its original. Where the cpuset has none
/// of a mask's units any more, that is all of the cpuset. Interrupts alike.
Restored restore(const JournalContent &content, const std::string &proc, const std::string &sys,
                 useconds_t most_waiting_us);

/// @brief Restore from STATE/journal, if there is one of this boot, and remove it. What could not be given
/// back is kept as STATE/journal.left, which the next call begins with, and a journal that cannot be read to
/// its end as STATE/journal.damaged.
/// @param[in] held an open journal that is read where there is no STATE/journal, or one of another tuner,
/// which is read, too; -1: there is none
Restored restore_from(const std::string &state, const std::string &proc, const std::string &sys,
                      int held = -1);

/// @brief Restore from a journal whose directory is gone.
Restored restore_held(int held, const std::string &proc, const std::string &sys);

/// @brief What an interrupt's affinity is.
/// @return none if there is no such interrupt
std::optional<PuSet> interrupt_affinity(const std::string &proc, std::int32_t number);

/// @return 0, or errno
int set_interrupt_affinity(const std::string &proc, std::int32_t number, const PuSet &to);

} // namespace rankwise::tune
