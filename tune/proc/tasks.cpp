// SPDX-License-Identifier: BSD-3-Clause
#include "proc/tasks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>

#include "proc/pu_list.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

// As getdents64(2) gives them.
struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    std::uint8_t type;
    char name[1];
};

// The kernel's masks are arrays of `unsigned long` as those of the bitset are, so that none is taken apart.
static_assert(sizeof(PuSet) == most_pus / 8 && std::is_trivially_copyable_v<PuSet>);

/// @return what is behind a key and its tabulator
std::string_view word_in_status(std::string_view status, std::string_view key) {
    const auto at = status.find(key);
    auto rest = status.substr(at == std::string_view::npos ? status.size() : at + key.size());
    return next_word(rest);
}

/// @return the process of a thread, or the parent of a process; none if that is not known
std::optional<std::int32_t> maker_of(const std::string &proc, std::int32_t thread) {
    Text text;
    if (!text.read(proc + "/" + std::to_string(thread) + "/status")) {
        return std::nullopt;
    }
    const auto process = as_number(word_in_status(text.view(), "\nTgid:")),
               parent = as_number(word_in_status(text.view(), "\nPPid:"));
    const auto maker = process == static_cast<std::uint64_t>(thread) ? parent : process;
    return maker && *maker > 0 && *maker <= INT32_MAX ? std::optional(static_cast<std::int32_t>(*maker))
                                                      : std::nullopt;
}

int set_mask(std::int32_t thread, const PuSet &mask) {
    return syscall(SYS_sched_setaffinity, thread, sizeof mask, &mask) == 0 ? 0 : errno;
}

} // namespace

std::optional<TaskStat> parse_task_stat(std::string_view line) {
    TaskStat stat;
    const auto number = as_number(next_word(line));
    // The name in brackets may hold anything; the state is behind the last one.
    const auto bracket = line.rfind(')');
    if (!number || *number > INT32_MAX || bracket == std::string_view::npos) {
        return std::nullopt;
    }
    stat.number = static_cast<std::int32_t>(*number);
    line.remove_prefix(bracket + 1);
    std::array<std::uint64_t, 40> fields{};
    for (std::size_t field = 3; field < fields.size(); ++field) {
        const auto word = next_word(line);
        if (word.empty()) {
            return std::nullopt;
        }
        if (field == 3) {
            stat.state = word[0];
        } else {
            fields[field] = as_number(word).value_or(0);
        }
    }
    stat.parent = static_cast<std::int32_t>(fields[4]);
    stat.session = static_cast<std::int32_t>(fields[6]);
    stat.major_faults = fields[12];
    stat.ticks = fields[14] + fields[15];
    stat.threads = static_cast<std::uint32_t>(fields[20]);
    stat.start = fields[22];
    stat.pu = fields[39] < most_pus ? static_cast<std::int32_t>(fields[39]) : -1;
    return stat;
}

std::optional<TaskStat> read_task_stat(const std::string &proc, std::int32_t process) {
    Text text;
    if (!text.read(proc + "/" + std::to_string(process) + "/stat")) {
        return std::nullopt;
    }
    return parse_task_stat(text.view());
}

bool is_zombie(const TaskStat &process) {
    return (process.state == 'Z' || process.state == 'X') && process.threads <= 1;
}

bool has_ended(const std::string &proc, const TaskId &process) {
    const auto path = proc + "/" + std::to_string(process.number) + "/stat";
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return errno == ENOENT || errno == ESRCH;
    }
    Text text;
    errno = 0;
    if (!text.read(file.number())) {
        return errno == ESRCH;
    }
    const auto stat = parse_task_stat(text.view());
    return stat && (stat->start != process.start || is_zombie(*stat));
}

bool is_thread_of(int task, std::int32_t thread) {
    return faccessat(task, std::to_string(thread).c_str(), F_OK, 0) == 0;
}

bool list_threads(int task, std::int32_t process, std::vector<std::int32_t> &threads) {
    alignas(Entry) std::array<char, 4096> entries;
    threads.clear();
    lseek(task, 0, SEEK_SET);
    for (long bytes; (bytes = syscall(SYS_getdents64, task, entries.data(), entries.size())) > 0;) {
        for (long at = 0; at < bytes;) {
            const auto *const entry = reinterpret_cast<const Entry *>(entries.data() + at);
            at += entry->bytes;
            if (const auto number = as_number(entry->name); number && *number <= INT32_MAX) {
                threads.push_back(static_cast<std::int32_t>(*number));
            }
        }
    }
    if (const auto main = std::ranges::find(threads, process); main != threads.end()) {
        std::iter_swap(threads.begin(), main);
    }
    return !threads.empty();
}

std::optional<PuSet> affinity_of(std::int32_t thread) {
    PuSet mask;
    return syscall(SYS_sched_getaffinity, thread, sizeof mask, &mask) > 0 ? std::optional(mask)
                                                                          : std::nullopt;
}

std::optional<PuSet> mask_in_status(std::string_view status) {
    const auto list = word_in_status(status, "\nCpus_allowed_list:");
    return list.empty() ? std::nullopt : parse_pu_list(list);
}

std::optional<PuSet> memories_in_status(std::string_view status) {
    const auto list = word_in_status(status, "\nMems_allowed_list:");
    return list.empty() ? std::nullopt : parse_pu_list(list);
}

int set_affinity(const std::string &proc, int task, std::int32_t thread, const PuSet &mask) {
    if (const int problem = set_mask(thread, mask); problem != 0) {
        return problem;
    }
    if (is_thread_of(task, thread)) {
        return 0;
    }
    const auto found = affinity_of(thread);
    const auto maker = found && (*found & ~mask).none() ? maker_of(proc, thread) : std::nullopt;
    if (const auto born_with = maker ? affinity_of(*maker) : std::nullopt) {
        set_mask(thread, *born_with);
    }
    return ESRCH;
}

} // namespace rankwise::tune
