// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "observe/rank_page.hpp"

namespace rankwise::tune {

/// @brief Finds pages of ranks, DIR/*.page and DIR/*/*.page, as they come.
///
/// Of directories that others than their users may write in, no page is taken.
class PageDirectory {
  public:
    /// @param[in] users whose pages are taken; empty: everybody's
    PageDirectory(std::string path, std::string proc, std::vector<std::uint32_t> users = {})
        : path_(std::move(path)), proc_(std::move(proc)), users_(std::move(users)) {}

    /// @return pages that were not there, or not prepared, before
    std::vector<RankPage> find_new();

  private:
    struct Seen {
        ino_t file;
        int looks; ///< how often it was looked at; `found` once it was a page
    };
    struct Directory {
        timespec changed{}; ///< as it was listed last
        Seconds listed = 0;
        uid_t user = 0;
        std::map<std::string, Seen> names;
        bool there = false;
    };
    struct Used {
        std::size_t directories = 0, names = 0;
    };
    void look(const Descriptor &file, Directory &directory, bool is_root, std::vector<RankPage> &pages);
    void list(int file, Directory &directory, bool is_root, bool is_its_users);
    void add_directory(int parent, const char *name);

    std::string path_, proc_;
    std::vector<std::uint32_t> users_;
    Directory root_;
    std::map<std::string, Directory> directories_;
    std::map<uid_t, Used> used_; ///< by user, so that none takes the others' room
};

} // namespace rankwise::tune
