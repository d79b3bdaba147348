// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "observe/mpi_share.hpp"
#include "observe/page_directory.hpp"
#include "observe/pus.hpp"
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
};

/// @brief Takes samples of a node.
class Observer {
  public:
    Observer(const Node &node, Places places);

    Sample sample(bool light);

    /// @return what was found out meanwhile that a user should know; each once
    std::vector<std::string> notes() { return std::exchange(notes_, {}); }

  private:
    struct Rank {
        Rank(const Places &places, const TaskId &id);
        TaskId process;
        std::string group;
        std::optional<RankPage> page;
        std::optional<MpiShare> share;
        ThreadReader threads;
        StoppedReader stopped;
        std::vector<std::uint64_t> pages_by_numa;
        bool has_dlb = false;
        Seldom pages_due;
    };
    void find_ranks();
    void look_for_movers();
    void add(const TaskId &id, std::optional<RankPage> page);
    bool read(Rank &rank, bool light, RankSample &sample);
    void read_pages_by_numa(Rank &rank, RankSample &sample);

    Places places_;
    Text text_;
    PageDirectory directory_;
    std::map<TaskId, Rank> ranks_;
    PuReader pus_;
    std::size_t numa_nodes_;
    std::vector<std::string> movers_, notes_;
    Seldom movers_due_{10};
};

} // namespace rankwise::tune
