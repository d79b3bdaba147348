// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/lookahead.hpp"
#include "replay/prediction.hpp"
#include "replay/resources/idle_capacity.hpp"
#include "replay/resources/next_ends.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Jobs whose speed depends on what else is under way: on their core, and in their memory and caches.
///
/// A job advances at
///
///     share of its core / (1 - f + f x),    x = the largest stretch of the memories and caches it uses
///
/// where f is the part of it that waits for these, 1 for a job that copies (`Bandwidth::stretch`). This is
/// processor sharing (Kleinrock, Queueing Systems II) with a rate that all jobs of one *group* - the
/// same core if that is shared, the same memories, the same f - have in common at any time. So each group is
/// kept in virtual time, the work that a job would have got since the group was empty: a job that starts at v
/// with work w ends at v + w whatever comes and goes, and a change of load touches the groups of that memory,
/// not their jobs.
class SharedRates {
  public:
    /// @param[in] ahead which queue of events serves each node; groups are of one queue
    /// @param[in] processors of all ranks, as `start` numbers them
    SharedRates(const Schedule &schedule, const machine::Machine &machine,
                const machine::Placement &placement, const Lookahead &ahead, std::size_t processors);

    bool empty() const noexcept { return groups_.empty(); } ///< nothing can slow a job

    /// Work of one job in picoseconds alone; of one that copies the bytes a second that it would move alone.
    struct Work {
        Picoseconds time;
        double bytes_per_s = 0;
    };
    /// How a job that ended spent its time beside its work.
    struct Ended {
        Picoseconds shared, interrupted, memory; ///< add up to how much longer than alone it took
        Picoseconds alone;                       ///< see `Machine::computation_is_as_recorded`
    };

    /// @return the group of a rank's jobs, `any` if nothing can slow them: computation; copies of messages of
    /// a link class; all else
    std::uint32_t computing(std::uint32_t rank) const noexcept { return of_rank_[rank * kinds_]; }
    std::uint32_t copying(std::uint32_t rank, std::uint32_t link) const noexcept {
        return of_rank_[rank * kinds_ + 2 + link];
    }
    std::uint32_t other(std::uint32_t rank) const noexcept { return of_rank_[rank * kinds_ + 1]; }

    /// @return whether a group's jobs use a memory or cache
    bool moves_bytes(std::uint32_t group) const noexcept {
        return group != any && groups_[group].has_domains;
    }

    /// @return the next end of a job of a queue's groups, after `settle`
    const NextEnd &next(std::uint32_t queue) const noexcept { return ends_[queue].first(); }

    /// @brief Bring into the cache: a queue's groups; then their jobs.
    void fetch(std::uint32_t queue) const noexcept {
        for (const std::uint32_t group : groups_of_[queue]) {
            __builtin_prefetch(&groups_[group]);
            __builtin_prefetch(reinterpret_cast<const char *>(&groups_[group]) + 64);
        }
        for (std::size_t k = 0; k < ends_[queue].all().size(); k += 4)
            __builtin_prefetch(ends_[queue].all().data() + k);
    }
    void fetch_jobs(std::uint32_t queue) const noexcept {
        for (const std::uint32_t group : groups_of_[queue]) {
            __builtin_prefetch(groups_[group].jobs.data());
            if (const std::uint32_t processor = groups_[group].processor; processor != any)
                __builtin_prefetch(&processors_[processor]);
        }
    }

    /// @brief All that comes and goes at `now` has come and gone: work out rates and next ends.
    void settle(Picoseconds now) {
        if (is_unsettled_)
            set_rates(now);
    }

    /// @param[in] key decides between jobs that end at one time
    void start(Picoseconds now, std::uint32_t group, std::uint32_t key, std::uint32_t processor, Work work);
    /// @brief Take off the job that ends next.
    /// @param[in] longer than alone it took
    Ended finish(Picoseconds now, std::uint32_t group, Picoseconds longer);

    /// @brief Interrupts take a core of a processor, or leave it.
    void interrupt(std::uint32_t processor, bool begins);
    /// @brief A rank has finished, and gives up its share of the core if waiting ranks keep theirs.
    void finished(std::uint32_t rank);

    /// @return of a rank's core if others share it, else nothing
    IdleCapacity *idle_capacity(std::uint32_t rank) noexcept {
        const std::uint32_t processor = shared_core_of_[rank];
        return processor == any ? nullptr : &processors_[processor].idle;
    }
    bool shares_core(std::uint32_t rank) const noexcept { return shared_core_of_[rank] != any; }
    bool any_core_is_shared() const noexcept { return any_core_is_shared_; }

    /// @return how each memory and cache was used up to now
    std::vector<SharedLoad> loads(Picoseconds now) const;
    std::uint32_t bandwidths() const noexcept {
        return static_cast<std::uint32_t>(machine_.bandwidths.size());
    }

  private:
    /// Bytes a second are summed as whole numbers of this part of one, so that sums do not depend on their
    /// order.
    static constexpr double per_byte = 1024;

    /// Jobs with the same key have the same rate.
    struct Key {
        std::uint32_t processor = any;
        bool computes = false;
        double memory_bound = 0;
        std::vector<std::uint32_t> domains;
        auto operator<=>(const Key &) const = default;
    };
    struct Job {
        double end; ///< virtual
        std::uint32_t key, processor;
    };
    /// How much less than at full speed a group's jobs got, in picoseconds since the group was empty, and
    /// what they would have got alone.
    struct Sums {
        double shared = 0, interrupted = 0, memory = 0, alone = 0;
    };
    /// What is kept of a job in a group that has sums.
    struct alignas(64) Start {
        Sums sums; ///< of the group when it started
        std::int64_t bytes_per_s = 0;
    };
    /// What changes while its jobs come and go, in two cache lines; its key and domains are beside it.
    struct alignas(64) Group {
        std::vector<Job> jobs; ///< heap, the first to end first
        double virtual_time = 0;
        double rate = 1; ///< of virtual time: its share, less what its domains slow it
        Picoseconds last = 0;
        std::uint32_t processor = any; ///< `any` if its share of that is always 1
        bool has_sums = false;         ///< something but a core that ranks share can slow it
        bool is_changed = false;
        bool has_domains = false;
        bool as_recorded = false;             ///< not slowed by its domains
        std::uint32_t queue = 0, end = 0;     ///< which queue's, and which of its ends
        double share = 1, share_of_ranks = 1; ///< of a core; and if there were no interrupts
        double stretch = 1;
        Sums sums;
        std::int64_t bytes_per_s = 0; ///< of all jobs, in parts of `per_byte`

        double rate_alone() const { return share / stretch; }
        void set_rate() { rate = as_recorded ? share : rate_alone(); }
    };
    static_assert(sizeof(Group) == 128);
    /// Who wants a part of a processor.
    struct Users {
        std::uint32_t jobs = 0, unfinished = 0, interrupts = 0;
        bool operator==(const Users &) const = default;
    };
    struct alignas(64) Processor {
        std::uint32_t capacity = 1;
        Users users, served{any, any, any}; ///< now, and when shares were worked out
        std::uint32_t group = any;          ///< the only one, if no memory can slow its jobs
        bool has_more_groups = false;       ///< see `further_groups_`
        bool is_changed = false;
        IdleCapacity idle;
    };
    struct Domain {
        std::uint32_t resource = 0, number = 0;
        std::vector<std::uint32_t> groups;
        double stretch = 1; ///< by what is asked for on average
        machine::Bandwidth::Stretches stretches;
        std::uint32_t jobs = 0;
        bool is_changed = false;
        Picoseconds last = 0, busy = 0, saturated = 0;
    };

    static bool later(const Job &a, const Job &b) {
        return a.end > b.end || (a.end == b.end && a.key > b.key);
    }
    static void advance(Group &group, Picoseconds now);
    static void advance(Domain &domain, Picoseconds now);
    NextEnd next_end(Picoseconds now, Group &group);
    void set_rates(Picoseconds now);
    void set_next_ends(Picoseconds now);
    std::uint32_t group_for(Key key, std::uint32_t queue);
    void note(std::uint32_t number, Group &group);
    void came_or_went(Picoseconds now, std::uint32_t number, Group &group, bool came);
    void change(std::uint32_t processor);
    void set_shares(Picoseconds now, Processor &processor);
    void set_stretches(Picoseconds now);
    void touch_domains(std::uint32_t group);

    const machine::Machine &machine_;
    const Picoseconds looked_back_; ///< how long after a first byte came it may ask what a core had left then
    std::uint32_t kinds_;           ///< of jobs of a rank: computing, other, copying by link class
    std::vector<std::uint32_t> of_rank_;
    std::vector<Group> groups_;
    std::vector<Key> keys_; ///< of each group
    std::map<Key, std::uint32_t> number_of_;
    std::vector<Processor> processors_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> further_groups_; ///< of a processor
    std::vector<Domain> domains_;
    std::vector<std::uint32_t> changed_, changed_domains_, changed_processors_;
    bool is_unsettled_ = false;
    std::vector<NextEnds> ends_;                        ///< of each queue
    std::vector<Start> starts_;                         ///< of the job that each processor of the engine has
    std::vector<std::vector<std::uint32_t>> groups_of_; ///< of each queue, in the order of its ends
    std::vector<std::uint32_t> shared_core_of_; ///< of each rank the processor that it shares with others
    bool any_core_is_shared_ = false;
};

} // namespace rankwise::replay
