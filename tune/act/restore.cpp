// SPDX-License-Identifier: BSD-3-Clause
#include "act/restore.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <set>
#include <unistd.h>

#include "act/cpuset.hpp"
#include "proc/pu_list.hpp"
#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_passes = 1000; // over a process that makes threads all the time
constexpr std::string_view left = ".left";

bool is_ours(const PuSet &mask, const ThreadEntry &entry, const PuSet &cpuset) {
    return mask == entry.after || mask == entry.before || mask == cut(entry.after, cpuset) ||
           mask == cut(entry.before, cpuset);
}

/// @brief Threads of one process.
class ProcessRestore {
  public:
    ProcessRestore(const std::string &proc, const std::string &sys, const TaskId &process,
                   std::vector<const ThreadEntry *> entries, Restored &restored)
        : proc_(proc), process_(process), entries_(std::move(entries)), restored_(restored),
          cpuset_(cpuset_of(proc, sys, process.number)),
          task_(open((proc + "/" + std::to_string(process.number) + "/task").c_str(),
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

    void run() {
        // The directory belongs to one process, so that who comes after it has none of its threads there.
        const auto stat = read_task_stat(proc_, process_.number);
        if (!task_ || !stat || stat->start != process_.start) {
            return;
        }
        // A thread may be born while its parent still has the mask that is taken back: until none is new,
        // twice.
        int quiet = 0;
        for (int pass = 0; pass < most_passes && quiet < 2; ++pass) {
            quiet = pass_over() ? 0 : quiet + 1;
            if (quiet == 1) {
                usleep(until_listed_us);
            }
        }
    }

  private:
    /// @return whether a thread was given another mask
    bool pass_over() {
        std::vector<std::int32_t> numbers;
        if (!list_threads(task_.number(), process_.number, numbers)) {
            return false;
        }
        bool changed = false;
        for (const auto number : numbers) {
            changed = (seen_.contains(number) ? false : restore_thread(number)) || changed;
        }
        return changed;
    }

    bool restore_thread(std::int32_t number) {
        const auto mask = affinity_of(number);
        const auto *const entry = mask ? entry_of(number) : nullptr;
        const auto *const from = entry != nullptr ? entry
                                 : mask           ? inherited_from(*mask, cpuset_, entries_)
                                                  : nullptr;
        if (from == nullptr) {
            return false;
        }
        seen_.insert(number);
        if (*mask == from->original || *mask == cut(from->original, cpuset_)) {
            return false;
        }
        if (!is_ours(*mask, *from, cpuset_)) {
            ++restored_.changed_since;
            return false;
        }
        const int problem = set_affinity(number, from->original);
        restored_.threads += problem == 0 ? 1 : 0;
        restored_.failed += problem != 0 && problem != ESRCH ? 1 : 0;
        return problem == 0;
    }

    const ThreadEntry *entry_of(std::int32_t number) const {
        for (const auto *const entry : entries_) {
            if (entry->thread.number == number) {
                Text text;
                const auto path = proc_ + "/" + std::to_string(process_.number) + "/task/" +
                                  std::to_string(number) + "/stat";
                const auto stat = text.read(path) ? parse_task_stat(text.view()) : std::nullopt;
                return stat && stat->start == entry->thread.start ? entry : nullptr;
            }
        }
        return nullptr;
    }

    const std::string &proc_;
    TaskId process_;
    std::vector<const ThreadEntry *> entries_;
    Restored &restored_;
    PuSet cpuset_;
    Descriptor task_;
    std::set<std::int32_t> seen_;
};

void restore_interrupt(const InterruptEntry &entry, const std::string &proc, Restored &restored) {
    const auto mask = interrupt_affinity(proc, entry.number);
    if (!mask || *mask == entry.original) {
        return;
    }
    if (*mask != entry.after && *mask != entry.before) {
        ++restored.changed_since;
        return;
    }
    const bool done = set_interrupt_affinity(proc, entry.number, entry.original) == 0;
    ++(done ? restored.interrupts : restored.failed);
}

} // namespace

const ThreadEntry *inherited_from(const PuSet &mask, const PuSet &cpuset,
                                  const std::vector<const ThreadEntry *> &entries) {
    const ThreadEntry *from = nullptr;
    for (const auto *const entry : entries) {
        const bool main = entry->thread.number == entry->process.number;
        if (is_ours(mask, *entry, cpuset) && (from == nullptr || main)) {
            from = entry;
        }
    }
    return from;
}

Restored restore(const JournalContent &content, const std::string &proc, const std::string &sys) {
    Restored restored;
    std::map<TaskId, std::vector<const ThreadEntry *>> processes;
    for (const auto &[id, entry] : content.threads) {
        processes[entry.process].push_back(&entry);
    }
    for (auto &[process, entries] : processes) {
        ProcessRestore(proc, sys, process, std::move(entries), restored).run();
    }
    for (const auto &[number, entry] : content.interrupts) {
        restore_interrupt(entry, proc, restored);
    }
    return restored;
}

namespace {

/// @brief Restore what one journal names; what could not be is kept for the next start.
void restore_file(const std::string &path, const std::string &kept, const std::string &proc,
                  const std::string &sys, Restored &restored) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    Text text;
    if (!file) {
        return;
    }
    Restored of_file;
    bool was_read = text.read(file.number());
    if (was_read) {
        const auto content = parse_journal(text.view());
        if (content.boot == boot_id(proc)) {
            of_file = restore(content, proc, sys);
        }
    }
    restored.threads += of_file.threads;
    restored.interrupts += of_file.interrupts;
    restored.changed_since += of_file.changed_since;
    restored.failed += of_file.failed;
    if (was_read && of_file.failed == 0) {
        unlink(path.c_str());
    } else if (path != kept) {
        rename(path.c_str(), kept.c_str());
    }
}

} // namespace

Restored restore_from(const std::string &state, const std::string &proc, const std::string &sys) {
    Restored restored;
    const auto path = state + "/journal", kept = path + std::string(left);
    restore_file(kept, kept, proc, sys, restored);
    restore_file(path, kept, proc, sys, restored);
    unlink((path + ".new").c_str());
    return restored;
}

std::optional<PuSet> interrupt_affinity(const std::string &proc, std::int32_t number) {
    Text text;
    return text.read(proc + "/irq/" + std::to_string(number) + "/smp_affinity_list")
               ? parse_pu_list(text.view())
               : std::nullopt;
}

int set_interrupt_affinity(const std::string &proc, std::int32_t number, const PuSet &to) {
    const auto path = proc + "/irq/" + std::to_string(number) + "/smp_affinity_list";
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
    const auto list = format_pu_list(to) + "\n";
    return file && write(file.number(), list.data(), list.size()) == static_cast<ssize_t>(list.size())
               ? 0
               : errno;
}

} // namespace rankwise::tune
