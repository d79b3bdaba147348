// SPDX-License-Identifier: BSD-3-Clause
#include "observe/page_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace rankwise::tune {
namespace {

constexpr int found = -1;
constexpr int most_looks = 60; // at a page that never becomes one
constexpr Seconds grain_s = 2; // a file made in the clock tick of a listing does not change the time again
constexpr std::size_t most_names = 1U << 16U;

bool is_page(const std::string &name) {
    return name.ends_with(".page");
}

bool is_directory(int parent, const dirent &entry) {
    struct stat status{};
    return entry.d_name[0] != '.' &&
           (entry.d_type == DT_DIR ||
            (entry.d_type == DT_UNKNOWN && fstatat(parent, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISDIR(status.st_mode)));
}

} // namespace

void PageDirectory::look(const std::string &path, Directory &directory, bool with_directories,
                         std::vector<RankPage> &pages) {
    struct stat status{};
    const int number =
        open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (with_directories ? 0 : O_NOFOLLOW));
    const Descriptor file(number);
    directory.there = file && fstat(number, &status) == 0;
    if (!directory.there) {
        return;
    }
    const Seconds now = tick_moment().at;
    const bool changed = status.st_mtim.tv_sec != directory.changed.tv_sec ||
                         status.st_mtim.tv_nsec != directory.changed.tv_nsec;
    if (changed || now < directory.listed + grain_s) {
        if (changed) {
            directory.changed = status.st_mtim;
            directory.listed = now;
        }
        std::map<std::string, int> names;
        const std::unique_ptr<DIR, int (*)(DIR *)> listing(fdopendir(dup(number)), closedir);
        while (const dirent *const entry = listing ? readdir(listing.get()) : nullptr) {
            const std::string name = entry->d_name;
            if (is_page(name) && names.size() < most_names) {
                const auto known = directory.names.find(name);
                names.emplace(name, known != directory.names.end() ? known->second : 0);
            } else if (with_directories && directories_.size() < most_names && is_directory(number, *entry)) {
                directories_.try_emplace(path + "/" + name);
            }
        }
        directory.names = std::move(names);
    }
    for (auto &[name, looks] : directory.names) {
        if (looks == found || looks >= most_looks) {
            continue;
        }
        ++looks;
        if (auto page = RankPage::open(number, name, proc_, users_)) {
            pages.push_back(std::move(*page));
            looks = found;
        }
    }
}

std::vector<RankPage> PageDirectory::find_new() {
    std::vector<RankPage> pages;
    if (path_.empty()) {
        return pages;
    }
    look(path_, directories_[path_], true, pages);
    for (auto at = directories_.begin(); at != directories_.end();) {
        if (at->first != path_) {
            look(at->first, at->second, false, pages);
        }
        at = at->first == path_ || at->second.there ? std::next(at) : directories_.erase(at);
    }
    return pages;
}

} // namespace rankwise::tune
