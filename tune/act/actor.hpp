// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "act/guard.hpp"
#include "act/journal.hpp"
#include "act/page_moves.hpp"
#include "act/rank_moves.hpp"
#include "act/restore.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Carries changes out, whole or not at all, behind a journal.
class Actor {
  public:
    /// @param[in] guard   of this tuner, as the journal; both must outlive this
    Actor(Guard &guard, Journal &journal, std::string proc, std::string sys, bool may_move_interrupts);

    /// @param[in] ranks as they were seen last, with their threads: no other process is touched, and none
    /// leaves
    ///            what its group's ranks had before the first change
    /// @return empty, or why it was not done; pages follow by `go_on`
    std::string apply(const Change &change, const std::vector<RankSample> &ranks);

    /// @return whether threads of a change that did not come about could not be moved back
    bool is_stuck() const { return !stuck_.threads.empty(); }

    /// @brief Move the next batch of pages.
    /// @return the moment of the next one, none if all are moved
    std::optional<Seconds> go_on();

    /// @return processes of which pages were moved since the last call
    std::set<TaskId> touched() { return std::exchange(touched_, {}); }

    /// @brief Pages that could not be moved, a sentence each, since the last call.
    std::vector<std::string> troubles() { return std::exchange(troubles_, {}); }

    /// @brief Take back what was applied last, thread by thread, and what is stuck.
    /// @return empty, or what could not be given back
    std::string undo();

    /// @brief Give threads of these processes what they had before the first change. They stay claimed.
    /// @return empty, or what could not be given back
    std::string give_back(const std::vector<TaskId> &processes);

    /// @brief Give back what was there before the first change, and begin anew. By `go_on` follow pages that
    /// are on their way back, and those of processes that were moved with them. Others stay: they are where
    /// their process' cores are.
    Restored restore();

    /// @brief What was changed stays. Pages that are on their way go on by `go_on`.
    void forget();

    /// @brief Forget processes that have ended, and take what others have made of masks since.
    /// @param[in] ranks a full sample. One that is not in it may live all the same: that is looked at here
    /// @return why nothing may stay changed: what it was could not be given back after a kill. Empty: it may
    std::string look(const std::vector<RankSample> &ranks);

  private:
    class Parents;

    std::string apply_interrupts(const std::vector<Change::Interrupt> &interrupts);
    void undo_interrupts(std::vector<InterruptEntry> &done);
    void forget_if_as_before(std::int32_t number);
    void forget_interrupt(std::int32_t number);
    void learn_units(const std::vector<RankSample> &ranks);
    void forget_given(const std::function<bool(const TaskId &)> &is_gone);
    void forget_ended(const std::vector<RankSample> &ranks);
    void settle(const std::vector<RankSample> &ranks, std::vector<ThreadEntry> &changed);
    void heed(const RankSample &rank, std::vector<ThreadEntry> &changed);
    void keep_origins(const RankSample &rank, const ThreadEntry &from, const PuSet &cpuset, Parents &parents,
                      std::vector<ThreadEntry> &changed);
    const ThreadEntry *executor_of(const RankSample &rank, const PuSet &cpuset) const;
    void take_back_alike(const TaskId &from, const TaskId &thread);
    void stick(const JournalContent &left);
    void try_again();

    Guard &guard_;
    Journal &journal_;
    std::string proc_, sys_;
    bool may_move_interrupts_;
    JournalContent content_;
    PageMoves pages_;
    bool are_returning_ = false;           ///< they are on the way back of what was taken back
    std::map<TaskId, std::int32_t> homes_; ///< before they were moved, of processes whose masks were as well
    Given given_;
    std::set<TaskId> touched_;
    std::vector<std::string> troubles_;
    struct {
        JournalContent masks; ///< `original` is what was there before it
        std::vector<Change::Pages> pages;
    } last_; ///< what was applied last
    /// Of a change that did not come about, what could not be taken back; `original` is what was there before
    /// it.
    JournalContent stuck_;
    /// Threads that may have the mask of `before` though nobody set it since: it could not be taken back, or
    /// a cpuset has its units again.
    std::set<TaskId> unsettled_;
};

} // namespace rankwise::tune
