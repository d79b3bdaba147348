// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "job.hpp"
#include "system.hpp"

namespace rankwise::tune::simulated {

/// @brief A node that does not exist: its processing units, and jobs on it by a model of their time that is
/// not the tuner's estimate.
///
/// Checks all that is done to it. What no tuner may do is in `violations`.
class SimulatedSystem final : public System {
  public:
    SimulatedSystem(Node node, std::uint64_t seed);

    Seconds now() const override { return now_; }
    Sample sample(bool light) override;
    Seconds look_at_units() override;
    Sample sample_with_movers() override;
    NumaPages pages_by_numa(const TaskId &process) override;
    std::string apply(const Change &change) override;
    bool is_stuck() const override { return !halfway_.empty(); }
    std::optional<Seconds> go_on() override;
    PuSet usable(const TaskId &process) override;
    std::string undo() override;
    std::string give_back(const std::vector<TaskId> &processes) override;
    GivenBack restore() override;

    /// @brief Let time pass, jobs get on.
    void advance(Seconds to);

    /// @brief What happens from outside: one line of a scenario without its moment.
    /// @throws Error if it cannot be read
    void happen(const std::string &line);

    void add(Job job) { jobs_.push_back(std::move(job)); }

    /// @brief From now on all masks and interrupts can be set.
    void loosen();

    /// @brief After the tuner has stopped: do all ranks have the masks they were given?
    void check_restored();

    const std::vector<Job> &jobs() const { return jobs_; }
    const std::map<std::int32_t, Line> &lines() const { return lines_; }
    const std::vector<std::string> &violations() const { return violations_; }
    int applied() const { return applied_; }
    std::size_t samples() const { return samples_; }
    std::size_t unit_looks() const { return unit_looks_; }

  private:
    struct Found {
        Job *job = nullptr;
        Rank *rank = nullptr;
    };
    Found find(const TaskId &process);
    Job &job(const std::string &name);
    void settle_on_cores();
    void note_units();
    PuSet usable(const Job &job) const;
    void put_in_force(const Job &job, Rank &rank);
    bool ask(const Job &job, Rank &rank, const PuSet &mask);
    bool ask_as_tuner(Job &job, Rank &rank, const PuSet &mask);
    bool is_loose(const Rank &rank) const { return !stuck_ && !rank.is_stuck && !rank.is_fixed; }
    void cut_anew(Job &job);
    PuSet seen_to_be_asked(const Job &job, const Rank &rank) const;
    Core &core(std::int32_t pu) { return cores_.at(static_cast<std::size_t>(pu)); }
    const Core &core(std::int32_t pu) const { return cores_.at(static_cast<std::size_t>(pu)); }
    double capability(const Rank &rank) const;
    double capability(std::int32_t pu) const;
    Seconds time_of_pages();
    std::int32_t memory_of(const Rank &rank) const;
    double longer_by_memory(const Job &job, std::size_t rank) const;
    std::string move_line(const Change::Interrupt &interrupt);
    std::string check(const Change &change);
    bool is_changed(const Job &job, const Rank &rank, const RankMove &move);
    std::string move(const RankMove &move);
    void look_for_crowds(Job &job, const std::array<int, most_pus> &had);
    std::string take_back(std::string why);
    struct Moved {
        TaskId process;
        PuSet before;
    };
    std::size_t take_back(std::vector<Moved> &moved);
    std::size_t take_back_lines();
    void wander(Job &job, Seconds length);
    void run(Job &job, Seconds length);
    RankSample sample_of(const Job &job, const Rank &rank, std::int32_t number, bool light) const;

    Node node_;
    std::vector<Core> cores_; ///< by OS number
    PuSet online_;
    bool settled_ = false;               ///< all ranks are where they stay until something happens
    std::map<std::int32_t, Line> lines_; ///< by number
    std::vector<double> memory_bytes_;   ///< of each NUMA node's caches, or of its memory
    bool counts_traffic_ = false, at_memory_ = false;
    Seconds clocks_every_ = 0, clocks_at_ = -1;  ///< clocks are read
    std::map<std::int32_t, double> seen_clocks_; ///< then
    bool stuck_ = false;                         ///< no mask can be given back
    std::string no_journal_;                     ///< `Sample::no_journal`
    std::vector<Job> jobs_;
    std::set<std::string> movers_, seen_movers_; ///< `seen_movers_`: when it was looked for them last
    Seconds movers_due_ = 0;
    std::vector<Change::Pages> pages_;      ///< on their way
    std::vector<Change::Pages> last_pages_; ///< of the change that was applied last
    Seconds pages_there_ = 0;
    std::map<std::string, PuSet> allowed_; ///< all that a job's ranks ever had from outside
    std::map<std::string, PuSet> cpusets_; ///< what the kernel lets them have now
    std::vector<std::string> violations_;
    std::mt19937_64 random_;
    std::int32_t next_process_ = 1000;
    Seconds now_ = 1000;
    int applied_ = 0;
    std::size_t samples_ = 0, unit_looks_ = 0;
    std::vector<Moved> last_;                         ///< by the change that was applied last
    std::map<std::int32_t, std::int32_t> last_lines_; ///< and where interrupts were
    std::vector<Moved> halfway_;                      ///< by a change that was not done, and not back yet
    bool is_left_ = false;                            ///< the last one is not undone everywhere
};

/// @brief `0-3,8`
PuSet parse_pus(const std::string &text);

} // namespace rankwise::tune::simulated
