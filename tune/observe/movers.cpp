// SPDX-License-Identifier: BSD-3-Clause
#include "observe/movers.hpp"

#include <algorithm>
#include <array>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

constexpr std::array<std::string_view, 2> movers_by_name{"irqbalance", "numad"};
constexpr int enough_looks = 2;

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

} // namespace

bool has_dlb(Text &text, const std::string &proc, const TaskId &rank) {
    return text.read(proc + "/" + std::to_string(rank.number) + "/maps", Text::most_of_users) &&
           text.view().find("/libdlb") != std::string_view::npos;
}

bool sees_all_processes(Text &text, const std::string &proc) {
    // The first process is there, and is root's.
    return text.read(proc + "/1/comm");
}

int MoverReader::mover_of(Text &text, std::int32_t number) const {
    const auto process = proc_ + "/" + std::to_string(number);
    const auto name = std::ranges::find(movers_by_name, first_word(text, process + "/comm"));
    return name != movers_by_name.end() && is_trusted(process)
               ? static_cast<int>(name - movers_by_name.begin())
               : -1;
}

bool MoverReader::has_ended(std::int32_t number) const {
    const auto stat = read_task_stat(proc_, number);
    return stat && is_zombie(*stat);
}

/// What was known of those that are there still is kept.
void MoverReader::list() {
    std::swap(processes_, before_);
    processes_.clear();
    const std::unique_ptr<DIR, int (*)(DIR *)> listing(opendir(proc_.c_str()), closedir);
    while (const dirent *const entry = listing ? readdir(listing.get()) : nullptr) {
        const auto number = as_number(entry->d_name);
        if (!number || *number > INT32_MAX) {
            continue;
        }
        Process process{static_cast<std::int32_t>(*number), 0, -1, entry->d_ino};
        const auto known = std::ranges::lower_bound(before_, process.number, {}, &Process::number);
        const bool is_known =
            known != before_.end() && known->number == process.number && known->file == process.file;
        processes_.push_back(is_known ? *known : process);
    }
    std::ranges::sort(processes_, {}, &Process::number);
}

std::vector<std::string> MoverReader::read(Text &text, bool all) {
    std::vector<std::string> movers;
    list();
    for (auto &process : processes_) {
        if (all || process.looks < enough_looks) {
            process.mover = mover_of(text, process.number);
            // Those that were there before this tuner have long executed their programs.
            process.looks = looked_ ? process.looks + 1 : enough_looks;
        }
        const auto name =
            process.mover < 0 ? std::string_view() : movers_by_name[static_cast<std::size_t>(process.mover)];
        // Nobody may have waited for it yet.
        if (!name.empty() && std::ranges::find(movers, name) == movers.end() && !has_ended(process.number)) {
            movers.emplace_back(name);
        }
    }
    looked_ = true;
    const auto balancing = first_word(text, proc_ + "/sys/kernel/numa_balancing");
    if (!balancing.empty() && balancing != "0") {
        movers.emplace_back("AutoNUMA");
    }
    if (first_word(text, sys_ + "/kernel/sched_ext/state") == "enabled") {
        movers.emplace_back("sched_ext");
    }
    std::ranges::sort(movers);
    return movers;
}

} // namespace rankwise::tune
