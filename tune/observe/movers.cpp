// SPDX-License-Identifier: BSD-3-Clause
#include "observe/movers.hpp"

#include <algorithm>
#include <dirent.h>
#include <memory>

namespace rankwise::tune {
namespace {

std::string first_word(Text &text, const std::string &path) {
    if (!text.read(path)) {
        return {};
    }
    auto line = text.view();
    return std::string(next_word(line));
}

void find_processes(Text &text, const std::string &proc, std::vector<std::string> &movers) {
    const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(proc.c_str()), closedir);
    while (const dirent *const entry = listing ? readdir(listing.get()) : nullptr) {
        if (!as_number(entry->d_name)) {
            continue;
        }
        const auto name = first_word(text, proc + "/" + entry->d_name + "/comm");
        if ((name == "irqbalance" || name == "numad") && std::ranges::find(movers, name) == movers.end()) {
            movers.push_back(name);
        }
    }
}

bool maps_dlb(Text &text, const std::string &proc, const TaskId &rank) {
    return text.read(proc + "/" + std::to_string(rank.number) + "/maps") &&
           text.view().find("/libdlb") != std::string_view::npos;
}

} // namespace

std::vector<std::string> find_movers(Text &text, const std::string &proc, const std::string &sys,
                                     const std::vector<TaskId> &ranks) {
    std::vector<std::string> movers;
    find_processes(text, proc, movers);
    const auto balancing = first_word(text, proc + "/sys/kernel/numa_balancing");
    if (!balancing.empty() && balancing != "0") {
        movers.emplace_back("AutoNUMA");
    }
    if (first_word(text, sys + "/kernel/sched_ext/state") == "enabled") {
        movers.emplace_back("sched_ext");
    }
    if (std::ranges::any_of(ranks, [&](const TaskId &rank) { return maps_dlb(text, proc, rank); })) {
        movers.emplace_back("DLB");
    }
    std::ranges::sort(movers);
    return movers;
}

} // namespace rankwise::tune
