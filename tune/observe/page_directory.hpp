// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "observe/rank_page.hpp"

namespace rankwise::tune {

/// @brief Finds pages of ranks, DIR/*.page and DIR/*/*.page, as they come.
class PageDirectory {
  public:
    /// @param[in] users whose pages are taken; empty: everybody's
    PageDirectory(std::string path, std::string proc, std::vector<std::uint32_t> users = {})
        : path_(std::move(path)), proc_(std::move(proc)), users_(std::move(users)) {}

    /// @return pages that were not there, or not prepared, before
    std::vector<RankPage> find_new();

  private:
    struct Directory {
        timespec changed{}; ///< as it was listed last
        Seconds listed = 0;
        std::map<std::string, int>
            names; ///< pages seen -> how often each was looked at; `found` once it was one
        bool there = false;
    };
    void look(const std::string &path, Directory &directory, bool with_directories,
              std::vector<RankPage> &pages);

    std::string path_, proc_;
    std::vector<std::uint32_t> users_;
    std::map<std::string, Directory> directories_;
};

} // namespace rankwise::tune
