// SPDX-License-Identifier: BSD-3-Clause
#include "observe/movers.hpp"

#include <algorithm>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace rankwise::tune {
namespace {

std::string first_word(Text &text, const std::string &path) {
    if (!text.read(path)) {
        return {};
    }
    auto line = text.view();
    return std::string(next_word(line));
}

/// Whether a process is root's or this user's: whoever else takes a mover's name is none.
bool is_trusted(const std::string &process) {
    struct stat of{};
    return stat(process.c_str(), &of) == 0 && (of.st_uid == 0 || of.st_uid == geteuid());
}

void find_processes(Text &text, const std::string &proc, std::vector<std::string> &movers) {
    const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(proc.c_str()), closedir);
    while (const dirent *const entry = listing ? readdir(listing.get()) : nullptr) {
        if (!as_number(entry->d_name)) {
            continue;
        }
        const auto process = proc + "/" + entry->d_name;
        const auto name = first_word(text, process + "/comm");
        if (is_trusted(process) && (name == "irqbalance" || name == "numad") &&
            std::ranges::find(movers, name) == movers.end()) {
            movers.push_back(name);
        }
    }
}

} // namespace

bool has_dlb(Text &text, const std::string &proc, const TaskId &rank) {
    return text.read(proc + "/" + std::to_string(rank.number) + "/maps", Text::most_of_users) &&
           text.view().find("/libdlb") != std::string_view::npos;
}

bool sees_all_processes(Text &text, const std::string &proc) {
    // The first process is there, and is root's.
    return text.read(proc + "/1/comm");
}

std::vector<std::string> find_movers(Text &text, const std::string &proc, const std::string &sys) {
    std::vector<std::string> movers;
    find_processes(text, proc, movers);
    const auto balancing = first_word(text, proc + "/sys/kernel/numa_balancing");
    if (!balancing.empty() && balancing != "0") {
        movers.emplace_back("AutoNUMA");
    }
    if (first_word(text, sys + "/kernel/sched_ext/state") == "enabled") {
        movers.emplace_back("sched_ext");
    }
    std::ranges::sort(movers);
    return movers;
}

} // namespace rankwise::tune
