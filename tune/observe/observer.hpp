// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "observe/limits.hpp"
#include "observe/memory_traffic.hpp"
#include "observe/movers.hpp"
#include "observe/mpi_share.hpp"
#include "observe/page_directory.hpp"
#include "observe/pus.hpp"
#include "observe/queues.hpp"
#include "observe/stopped.hpp"
#include "observe/threads.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Where to look.
struct Places {
    std::string pages; ///< directory of ranks' pages, may be empty
    std::string proc = "/proc", sys = "/sys";
    std::vector<std::int32_t> pids;   ///< ranks without a page
    std::vector<std::uint32_t> users; ///< whose ranks are taken; empty: everybody's
    bool in_lab = true;               ///< ranks may be on nodes of a lab
};

/// @brief Takes samples of a node.
class Observer {
  public:
    Observer(const Node &node, Places places);

    Sample sample(bool light);

    /// @return as the last full sample found them
    const Limits &limits() const { return limits_; }

    /// @brief Look for other movers now, at all processes and in all ranks. Else samples look each ten
    /// seconds, at new processes, and in a rank when it is found.
    void look_for_movers();

    /// @brief Look where threads are that may run on several units. However often it is called, this takes at
    /// most a part of the time.
    /// @return the moment of the next look
    Seconds look_at_units();

    /// @brief Pages of these processes were moved: where they are is read at the next sample, however seldom
    /// else.
    void look_at_pages(const std::set<TaskId> &processes);

    /// @return where the pages of a rank are, read anew if that was not done some seconds ago
    NumaPages pages_by_numa(const TaskId &process);

    /// @return what was found out meanwhile that a user should know; each once
    std::vector<std::string> notes() { return std::exchange(notes_, {}); }

  private:
    struct Rank {
        Rank(const Places &places, const TaskId &id, std::uint32_t user, std::int32_t ranks);
        TaskId process;
        std::uint32_t user;
        std::size_t thread_count = 0;
        std::string group;
        std::optional<RankPage> page;
        std::optional<MpiShare> share;
        ThreadReader threads;
        StoppedReader stopped;
        NumaPages pages;
        bool has_dlb = false, share_asked = false;
        bool is_read = false;              ///< its threads were, in the last full sample
        Seldom again{5};                   ///< threads that could not be read
        Seldom pages_due, pages_due_again; ///< by what it costs; where somebody asks
    };
    /// Of a user, or of all.
    struct Used {
        std::size_t ranks = 0, threads = 0;
    };
    using Ranks = std::map<TaskId, Rank>;
    void find_ranks();
    void find_movers(bool all);
    void add_queues(std::vector<PuSample> &pus);
    void add(const TaskId &id, std::uint32_t user, std::optional<RankPage> page);
    void open_share(Rank &rank);
    Ranks::iterator erase(Ranks::iterator rank);
    void refuse(const Rank &rank, const std::string &why);
    bool read_threads(Rank &rank, RankSample &sample);
    bool read(Rank &rank, bool light, RankSample &sample);
    void read_pages_by_numa(Rank &rank, bool is_due);

    Places places_;
    Text text_;
    PageDirectory directory_;
    Ranks ranks_;
    std::map<std::uint32_t, Used> used_;
    Used used_by_all_;
    std::set<std::uint32_t> refused_; ///< users that this was said of
    PuReader pus_;
    LimitReader limit_reader_;
    MemoryTraffic memory_;
    Limits limits_;
    std::size_t numa_nodes_;
    MoverReader mover_reader_;
    std::vector<std::string> movers_, notes_;
    bool movers_hidden_ = false;
    QueueReader queues_;
    bool own_network_;
    Seldom units_due_{0.05, 1e-3};
    Seldom movers_due_{10, 5e-4}; ///< 5 ms of ten seconds: of some thousand processes
};

} // namespace rankwise::tune
