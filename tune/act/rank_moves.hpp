// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "act/guard.hpp"
#include "act/journal.hpp"
#include "act/restore.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Units that jobs were given: no rank leaves those of its group.
struct Given {
    struct Had {
        Mask units; ///< that each process' threads had before the first change, also such as have ended, or
                    ///< been bound to a part of them, since
        std::string group;
    };
    std::map<TaskId, Had> processes;
    std::map<std::string, PuSet> ended; ///< by group: what its processes had that have ended
};

/// @brief All threads of the ranks of one change get other masks, or none does.
class RankMoves {
  public:
    /// @param[in] ranks   as they were seen last
    /// @param[in] given   by the launcher
    /// @param[in] guard   claims the processes that are moved
    /// @param[in] content what was done before; what this does is put into it
    RankMoves(const std::vector<RankMove> &moves, const std::vector<RankSample> &ranks, const Given &given,
              const std::string &proc, const std::string &sys, Guard &guard, Journal &journal,
              JournalContent &content);

    /// @return empty, or why it was not done
    std::string run();

    /// @brief Take it back.
    /// @param[in] why it is not done
    /// @return this, and what could not be taken back
    std::string undo(std::string why);

    /// @return what was done to each thread
    const std::vector<ThreadEntry> &done() const { return written_; }

    /// @return what could not be taken back; `original` is what was there before it
    const JournalContent &stuck() const { return stuck_; }

  private:
    struct Mover {
        const RankMove *move = nullptr;
        const RankSample *rank = nullptr;
        std::string name; ///< `rank 3`
        Descriptor task, process;
        PuSet cpuset;
        std::set<std::int32_t> seen;
        std::vector<ThreadEntry> had;   ///< entries of its threads, before anything was moved
        std::vector<ThreadEntry> found; ///< in a pass: to be moved
    };
    std::string check(const RankMove &move, Mover &mover);
    std::string find_threads(Mover &mover);
    bool is_as_decided(const Mover &mover, const TaskId &thread, const PuSet &mask) const;
    std::string find_thread(Mover &mover, std::int32_t number, const Entries &siblings);
    std::string set(Mover &mover, const ThreadEntry &entry);
    std::string pass(bool &changed);
    PuSet allowed(const std::string &group) const;

    const std::vector<RankMove> &moves_;
    const std::vector<RankSample> &ranks_;
    const Given &given_;
    std::string proc_, sys_;
    Guard &guard_;
    Journal &journal_;
    JournalContent &content_;
    std::vector<Mover> movers_;
    std::vector<ThreadEntry> written_; ///< in the journal, and done but for the last pass
    JournalContent stuck_;
};

} // namespace rankwise::tune
