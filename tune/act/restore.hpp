// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// @brief Of the entries of one process, the one that a thread without an entry inherited its mask from.
/// @return null: of none of them; it made its mask itself
const ThreadEntry *inherited_from(const PuSet &mask, const PuSet &cpuset,
                                  const std::vector<const ThreadEntry *> &entries);

/// @brief Give each thread its original mask that has what was set last, or that cut by its cpuset; threads
/// that were born under a changed mask get that of the thread they have it from, the main thread before
/// others. A thread that is bound within what was set is bound within its original. Where the cpuset has none
/// of a mask's units any more, that is all of the cpuset. Interrupts alike.
Restored restore(const JournalContent &content, const std::string &proc, const std::string &sys,
                 useconds_t most_waiting_us);

/// @brief Restore from STATE/journal, if there is one of this boot, and remove it. What could not be given
/// back is kept as STATE/journal.left, which the next call begins with, and a journal that cannot be read to
/// its end as STATE/journal.damaged.
/// @param[in] held an open file that is read where there is no STATE/journal; -1: there is none
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
