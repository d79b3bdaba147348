// SPDX-License-Identifier: BSD-3-Clause
#include "observe/page_directory.hpp"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

#include "proc/open_beneath.hpp"

namespace rankwise::tune {
namespace {

constexpr int found = -1;
constexpr int most_looks = 60; // at a page that never becomes one
constexpr Seconds grain_s = 2; // a file made in the clock tick of a listing does not change the time again
constexpr std::size_t most_directories = 1024, most_directories_of_user = 64;
constexpr std::size_t most_names_of_user = 2048;
constexpr std::size_t most_entries = 1U << 16U; // of a directory that are looked at

bool is_page(std::string_view name) {
    return name.ends_with(".page");
}

} // namespace

void PageDirectory::add_directory(int parent, const char *name) {
    struct stat status{};
    if (name[0] == '.' || directories_.size() >= most_directories || directories_.contains(name) ||
        fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode) ||
        (!users_.empty() && std::ranges::find(users_, status.st_uid) == users_.end())) {
        return;
    }
    auto &used = used_[status.st_uid].directories;
    if (used < most_directories_of_user) {
        ++used;
        directories_[name].user = status.st_uid;
    }
}

void PageDirectory::list(int file, Directory &directory, bool is_root, bool is_its_users) {
    auto &used = used_[directory.user].names;
    used -= directory.names.size();
    std::map<std::string, Seen> names;
    const std::unique_ptr<DIR, int (*)(DIR *)> listing(fdopendir(dup(file)), closedir);
    std::size_t entries = 0;
    while (const dirent *const entry =
               listing && ++entries < most_entries ? readdir(listing.get()) : nullptr) {
        if (!is_page(entry->d_name)) {
            if (is_root && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) {
                add_directory(file, entry->d_name);
            }
        } else if (is_its_users && used < most_names_of_user) {
            const auto known = directory.names.find(entry->d_name);
            const bool is_known = known != directory.names.end() && known->second.file == entry->d_ino;
            used += names.emplace(entry->d_name, is_known ? known->second : Seen{entry->d_ino, 0}).second;
        }
    }
    directory.names = std::move(names);
}

void PageDirectory::look(const Descriptor &file, Directory &directory, bool is_root,
                         std::vector<RankPage> &pages) {
    struct stat status{};
    directory.there =
        file && fstat(file.number(), &status) == 0 && (is_root || status.st_uid == directory.user);
    if (!directory.there) {
        return;
    }
    if (is_root && directory.names.empty()) {
        directory.user = status.st_uid;
    }
    const Seconds now = tick_moment().at;
    const bool changed = status.st_mtim.tv_sec != directory.changed.tv_sec ||
                         status.st_mtim.tv_nsec != directory.changed.tv_nsec;
    if (changed || now < directory.listed + grain_s) {
        if (changed) {
            directory.changed = status.st_mtim;
            directory.listed = now;
        }
        list(file.number(), directory, is_root, (status.st_mode & (S_IWGRP | S_IWOTH)) == 0);
    }
    for (auto &[name, seen] : directory.names) {
        if (seen.looks == found || seen.looks >= most_looks) {
            continue;
        }
        ++seen.looks;
        if (auto page = RankPage::open(file.number(), name, proc_, status.st_uid, users_)) {
            pages.push_back(std::move(*page));
            seen.looks = found;
        }
    }
}

std::vector<RankPage> PageDirectory::find_new() {
    std::vector<RankPage> pages;
    if (path_.empty()) {
        return pages;
    }
    constexpr int flags = O_RDONLY | O_DIRECTORY;
    const Descriptor root(open(path_.c_str(), flags | O_CLOEXEC));
    look(root, root_, true, pages);
    for (auto at = directories_.begin(); at != directories_.end();) {
        auto &directory = at->second;
        look(root ? open_beneath(root.number(), at->first.c_str(), flags) : Descriptor(), directory, false,
             pages);
        if (directory.there) {
            ++at;
            continue;
        }
        auto &used = used_[directory.user];
        used.names -= directory.names.size();
        --used.directories;
        at = directories_.erase(at);
    }
    return pages;
}

} // namespace rankwise::tune
