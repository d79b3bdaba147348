// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/proposal.hpp"
#include "judge/trial.hpp"
#include "tuner.hpp"

namespace rankwise::tune {

/// @brief What ranks do, wherever they are.
struct Behaviour {
    std::vector<double> computation; ///< `signature` of each rank
    double noise = 0;                ///< by which another window of the same length may differ
};

/// @return the difference of the rank that differs most; 1 of other numbers of ranks
double distance(const Behaviour &a, const Behaviour &b);
bool are_same(const Behaviour &a, const Behaviour &b);

/// @brief A mapping that was kept, and what the ranks did then.
struct Known {
    Behaviour behaviour;
    Mapping mapping;
    double rate;
    RateOf rate_of;
    Silent silent; ///< ranks that it was not told by
};

/// @brief A change that did not help, or could not be made.
struct Failed {
    Behaviour behaviour;
    std::vector<double> environment;
    std::string target; ///< `target_of`
    Seconds until, pause;
};

/// @brief What a rank may run on, as `units_of` says.
struct Masks {
    PuSet original; ///< before the tuner changed it, or what somebody else has made of it since
    PuSet set;      ///< last, by whoever it was
    PuSet expected; ///< that it has if nobody else changes it: of `set`, what the kernel allowed it last
    bool bound_within = false; ///< its runtime has bound it to a part of `set` since

    bool pinned = false; ///< its threads had parts of `expected` when they were looked at last

    /// @brief Where a runtime has bound it, forget the rest: it had the same part of `original`, and is
    /// exchanged with that part of `set` only.
    void keep_to_part();
};

/// @brief Masks that ranks have though the tuner did not set them.
struct ChangedMasks {
    std::vector<std::int32_t> ranks; ///< world ranks
    bool by_somebody = false;        ///< not all of them because a cpuset changed or cores went or came, or a
                                     ///< runtime bound a rank within what it was given
    PuSet units;                     ///< that the group's ranks have now
};

/// @brief Ranks that may change places, and what was learned of them.
struct Group {
    PuSet given;   ///< units that its ranks had at first
    PuSet allowed; ///< of these, what the kernel lets them have now
    std::map<TaskId, Masks> masks;
    std::set<TaskId> seen;
    Seconds since = 0;      ///< its first rank was seen
    std::string gives_back; ///< why its ranks are to get back what they had before they were moved
    int overruled = 0;      ///< times that somebody changed masks of ranks that were moved
    int threads = 0;        ///< that a rank had use for when it was bound to fewer units
    std::optional<Sample> base, middle; ///< its part of samples: at the begin of a window, and in it
    std::optional<Sample> watched;      ///< at the begin of a short one

    bool acting = false;                            ///< above the one threshold, and not yet below the other
    std::set<std::int64_t> wanted;                  ///< `moved_by` what the window before spoke for
    Seconds wanted_by_clocks = 0;                   ///< `clocks_at` when that was wanted first
    Seconds quiet_until = 0, pause = 0;             ///< of new changes
    Seconds known_quiet_until = 0, known_pause = 0; ///< of mappings that are known
    std::vector<Known> known;
    std::vector<Failed> failed;
    std::vector<Mapping> impossible; ///< that could not be carried out
    Seconds impossible_until = 0;
    int undone = 0;             ///< attempts since the last that was measured and kept
    std::set<std::string> said; ///< that was logged since the last attempt

    struct Calls {
        std::uint64_t count;
        Seconds since; ///< there have been as many
    };
    std::map<TaskId, Calls> calls; ///< MPI calls of ranks with a page
    Silent silent;                 ///< ranks that tell nothing of how the job gets on

    std::optional<Observation> last;
    SeenMasks seen_masks;            ///< in `last`; empty where they were set since
    Behaviour behaviour;             ///< in `last`
    std::vector<double> capability;  ///< of the ranks' units then; 0 of those that are silent
    std::vector<double> environment; ///< of each unit that is allowed
    Mapping mapping;                 ///< of `last`, and what was kept since

    /// @brief What was learned is of other ranks, or of other masks.
    void forget();
    /// @brief See which ranks make MPI calls. A job may have some that do not: they sleep in I/O, wait for
    /// the end, or compute apart. Progress is that of the others.
    void listen(const Sample &sample);
    /// @brief Whether the kernel lets ranks change places: they have units in common.
    bool shares_units() const;
    /// @brief Silent ranks that are busy all the same stay where they are: nobody would see what they lose.
    void hold_apart(Observation &observation) const;
    /// @brief A rank that once had use for more units than it was bound to is not bound to as few again.
    void remember_threads(Observation &observation) const;
    /// @brief A rank whose threads are bound apart keeps the units of those that have ended, also where only
    /// one is left.
    /// @param[in] usable System::usable
    void keep_units(Observation &observation, const std::function<PuSet(const TaskId &)> &usable) const;
    /// @brief Find a rank that was bound to fewer units than it had, and has use for more of them now: its
    /// threads have come since.
    /// @return which, and how many; empty if there is none
    std::string find_crowded(const Observation &observation);
    /// @brief Whether ranks have masks that the tuner set, and whether such of fewer units.
    bool is_moved() const;
    bool is_narrowed() const;
    /// @brief Take over what the last window showed.
    void look_at(Observation shown, const Node &node);
    /// @brief Masks that ranks have now though the tuner did not set them.
    /// @param[in] usable System::usable
    ChangedMasks changed_by_others(const std::function<PuSet(const TaskId &)> &usable);
    /// @return the mapping that suits what the ranks do now, if it is another one
    const Known *recognised(const Behaviour &now) const;
    /// @brief Whether it did not help a short time ago, with ranks that did the same on cores that were used
    /// alike.
    bool is_held(const std::string &target, Seconds now) const;

    /// @brief What a trial showed.
    /// @param[in] mapping that it led to
    void learn(const Trial &trial, const Mapping &mapping, const Policy &policy, const Node &node,
               Seconds now);
    /// @brief Leave out what the kernel does not allow any more.
    /// @param[in] usable by the ranks
    void keep_to(const PuSet &usable);

  private:
    void keep(const Trial &trial, const Mapping &mapping, const Policy &policy, const Node &node,
              Seconds now);
    void hold(const std::string &target, const Policy &policy, Seconds now);
    void set_masks(const Mapping &of, const Node &node);
};

/// @brief A group's ranks, and all that is of the node, of a sample.
Sample part_of(const Sample &sample, const std::string &group);

/// @brief Iterations that each rank has ended between two samples, at least.
/// @param[in] silent ranks that are left out
/// @return nothing where iterations are not known
std::optional<std::uint64_t> iterations_between(const Sample &before, const Sample &after,
                                                const std::string &group, const Silent &silent);

/// @brief What ranks did between two samples on cores of these capabilities.
/// @param[in] silent ranks that are left out
Behaviour behaviour_between(const Sample &before, const Sample &after, const std::string &group,
                            const std::vector<double> &capability, const Silent &silent);

/// @brief What a change leads to, as text: wherever ranks come from.
std::string target_of(const Change &change, const Mapping &mapping);

/// @brief What a change moves: numbers of processes and, below zero, interrupts.
std::set<std::int64_t> moved_by(const Change &change);

/// @brief World ranks that a mapping moves.
std::vector<std::int32_t> moved(const Observation &observation, const Mapping &mapping);

} // namespace rankwise::tune
