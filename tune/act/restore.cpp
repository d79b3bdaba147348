// SPDX-License-Identifier: BSD-3-Clause
#include "act/restore.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "act/births.hpp"
#include "act/cpuset.hpp"
#include "proc/pu_list.hpp"
#include "proc/tasks.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_restoring_passes = 1000; // over a process that makes threads all the time
// For threads that get no core: what they were beginning cannot run before them.
constexpr useconds_t first_wait_us = 100, most_wait_us = 10'000;

bool is_ours(const PuSet &mask, const ThreadEntry &entry, const PuSet &cpuset) {
    return mask == entry.after || mask == entry.before || mask == cut(entry.after, cpuset) ||
           mask == cut(entry.before, cpuset);
}

/// @brief Threads of one process.
class ProcessRestore {
  public:
    ProcessRestore(const std::string &proc, const std::string &sys, const TaskId &process,
                   const Entries &entries, Restored &restored)
        : proc_(proc), sys_(sys), process_(process), entries_(entries), restored_(restored),
          task_(open((proc + "/" + std::to_string(process.number) + "/task").c_str(),
                     O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        for (const auto *const entry : entries_) {
            by_number_[entry->thread.number] = entry;
            main_ = entry->thread.number == process.number ? entry : main_;
        }
        // The directory belongs to one process, so that who comes after it has none of its threads there.
        const auto stat = read_task_stat(proc_, process_.number);
        if (!task_ || !stat || stat->start != process_.start) {
            task_.reset();
        }
    }

    explicit operator bool() const { return static_cast<bool>(task_); }

    /// @return whether a thread was given another mask
    bool pass() {
        bool changed = false;
        if (list_threads(task_.number(), process_.number, numbers_)) {
            for (const auto number : numbers_) {
                if (seen_.contains(number)) {
                    continue;
                }
                const bool is_changed = restore_thread(number);
                // One that is new and has the right mask was not born to be given another one.
                if (is_changed || (is_first_pass_ && seen_.contains(number))) {
                    births_.watch(task_.number(), number);
                }
                changed = changed || is_changed;
            }
        }
        is_first_pass_ = false;
        return changed;
    }

    bool are_births_listed() { return births_.are_listed(task_.number()); }

  private:
    bool restore_thread(std::int32_t number) {
        const auto mask = affinity_of(number);
        const auto *const from = mask ? origin_of(number, *mask) : nullptr;
        if (from == nullptr) {
            return false;
        }
        PuSet original = from->original;
        seen_.insert(number);
        if (from->thread.number == number && *mask == from->before && from->before != from->after) {
            with_before_.insert(from);
        }
        if (*mask == original && from->after == original) {
            return false;
        }
        // A thread that shows what it had may show a part of what it was given, which the kernel remembers
        // until its cpuset has the rest again.
        const bool shows_original = *mask == original || *mask == cut(original, cpuset());
        if (*mask != from->after && *mask != from->before && !shows_original) {
            if (!is_ours(*mask, *from, cpuset())) {
                const auto *const set = bound_within(*mask, *from);
                if (set == nullptr) {
                    ++restored_.changed_since;
                    return false;
                }
                original = exchanged(*mask, *set, original);
            }
        }
        if (!is_thread_of(task_.number(), number)) {
            return false;
        }
        int problem = set_affinity(proc_, task_.number(), number, original);
        if (problem == EINVAL) {
            problem = set_affinity(proc_, task_.number(), number, cut(original, cpuset()));
        }
        restored_.threads += problem == 0 && !shows_original ? 1 : 0;
        if (problem != 0 && problem != ESRCH) {
            ++restored_.failed;
            restored_.left.threads[from->thread] = *from;
        }
        return problem == 0 && !shows_original;
    }

    /// The entry that says what a thread had; null: it made its mask itself.
    const ThreadEntry *origin_of(std::int32_t number, const PuSet &mask) {
        const auto *const own = entry_of(number);
        if (own != nullptr && (own != main_ || !may_be_executors(mask))) {
            return own;
        }
        if (const auto *const entry = inherited_from(mask, cpuset(), entries_, with_before_)) {
            return entry;
        }
        const bool is_bound = main_ != nullptr && bound_within(mask, *main_) != nullptr;
        return own != nullptr || is_bound ? main_ : nullptr;
    }

    /// Whether the main thread's number and its mask may be those of another thread, which executed a
    /// program: of those that have entries none but the main one is there then.
    bool may_be_executors(const PuSet &mask) {
        const auto is_another = [&](std::int32_t number) {
            return number != process_.number && entry_of(number) != nullptr;
        };
        return mask != main_->original && !is_ours(mask, *main_, cpuset()) &&
               std::ranges::none_of(numbers_, is_another);
    }

    const ThreadEntry *entry_of(std::int32_t number) const {
        const auto found = by_number_.find(number);
        if (found == by_number_.end()) {
            return nullptr;
        }
        Text text;
        const Descriptor file(
            openat(task_.number(), (std::to_string(number) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
        const auto stat = file && text.read(file.number()) ? parse_task_stat(text.view()) : std::nullopt;
        return stat && stat->start == found->second->thread.start ? found->second : nullptr;
    }

    const PuSet &cpuset() {
        if (!cpuset_) {
            cpuset_ = cpuset_of(proc_, sys_, process_.number);
        }
        return *cpuset_;
    }

    const std::string &proc_, &sys_;
    TaskId process_;
    const Entries &entries_;
    Restored &restored_;
    Descriptor task_;
    std::map<std::int32_t, const ThreadEntry *> by_number_;
    const ThreadEntry *main_ = nullptr; ///< of the main thread
    std::optional<PuSet> cpuset_;       ///< most need none
    std::vector<std::int32_t> numbers_;
    std::set<std::int32_t> seen_;
    std::set<const ThreadEntry *> with_before_; ///< their threads had the mask of `before`
    Births births_;
    bool is_first_pass_ = true;
};

/// @brief All of them in turn, so that the last of many has its masks after one look at each of the others. A
/// thread may be born while its parent still has the mask that is taken back: until none is new.
void restore_processes(std::vector<ProcessRestore> &processes, useconds_t most_waiting_us) {
    useconds_t waited_us = 0, wait_us = first_wait_us;
    for (int pass = 0; pass < most_restoring_passes; ++pass) {
        // Asked before the pass, which then sees all that was listed by then.
        bool are_listed = pass > 0, changed = false;
        for (auto &process : processes) {
            are_listed = process.are_births_listed() && are_listed;
        }
        for (auto &process : processes) {
            changed = process.pass() || changed;
        }
        if (changed || pass == 0) {
            continue;
        }
        if (are_listed || waited_us >= most_waiting_us) {
            return;
        }
        usleep(wait_us);
        waited_us += wait_us;
        wait_us = std::min(2 * wait_us, most_wait_us);
    }
}

void restore_interrupt(const InterruptEntry &entry, const std::string &proc, Restored &restored) {
    const auto mask = interrupt_affinity(proc, entry.number);
    if (!mask || *mask == entry.original) {
        return;
    }
    if (*mask != entry.after && *mask != entry.before) {
        ++restored.changed_since;
        return;
    }
    if (set_interrupt_affinity(proc, entry.number, entry.original) == 0) {
        ++restored.interrupts;
    } else {
        ++restored.failed;
        restored.left.interrupts[entry.number] = entry;
    }
}

} // namespace

Entries entries_of(const std::map<TaskId, ThreadEntry> &threads, const TaskId &process) {
    Entries entries;
    for (const auto &[id, entry] : threads) {
        if (entry.process == process) {
            entries.push_back(&entry);
        }
    }
    return entries;
}

const ThreadEntry *inherited_from(const PuSet &mask, const PuSet &cpuset, const Entries &entries,
                                  const std::set<const ThreadEntry *> &with_before) {
    const ThreadEntry *from = nullptr;
    int best = 0;
    for (const auto *const entry : entries) {
        if (!is_ours(mask, *entry, cpuset)) {
            continue;
        }
        const PuSet &now = with_before.contains(entry) ? entry->before : entry->after;
        const int has = mask == now || mask == cut(now, cpuset) ? 2 : 0;
        const int fit = 1 + has + (entry->thread == entry->process ? 1 : 0);
        if (fit > best) {
            from = entry;
            best = fit;
        }
    }
    return from;
}

const PuSet *bound_within(const PuSet &mask, const ThreadEntry &entry) {
    for (const PuSet *const set : {&*entry.after, &*entry.before}) {
        if (is_bound_within(mask, *set, entry.original)) {
            return set;
        }
    }
    return nullptr;
}

std::optional<PuSet> inherited_original(const PuSet &mask, const PuSet &cpuset, const Entries &entries) {
    if (const auto *const from = inherited_from(mask, cpuset, entries)) {
        return from->original;
    }
    const auto main = std::ranges::find_if(
        entries, [](const ThreadEntry *entry) { return entry->thread == entry->process; });
    const auto *const set = main != entries.end() ? bound_within(mask, **main) : nullptr;
    return set != nullptr ? std::optional(exchanged(mask, *set, (*main)->original)) : std::nullopt;
}

std::optional<PuSet> original_of(const TaskId &thread, const PuSet &mask, const PuSet &cpuset,
                                 const JournalContent &content, const Entries &siblings) {
    const auto known = content.threads.find(thread);
    return known != content.threads.end() ? known->second.original
                                          : inherited_original(mask, cpuset, siblings);
}

Restored restore(const JournalContent &content, const std::string &proc, const std::string &sys,
                 useconds_t most_waiting_us) {
    Restored restored;
    std::map<TaskId, Entries> entries;
    for (const auto &[id, entry] : content.threads) {
        entries[entry.process].push_back(&entry);
    }
    for (auto at = entries.begin(); at != entries.end();) {
        std::vector<ProcessRestore> processes;
        Descriptor spare(open("/", O_PATH | O_CLOEXEC));
        for (; at != entries.end(); ++at) { // as many as there are descriptors for
            ProcessRestore process(proc, sys, at->first, at->second, restored);
            if (process) {
                processes.push_back(std::move(process));
                continue;
            }
            if (has_ended(proc, at->first)) {
                continue;
            }
            if (!processes.empty()) {
                break;
            }
            for (const auto *const entry : at->second) {
                restored.left.threads[entry->thread] = *entry;
            }
            restored.failed += at->second.size();
        }
        spare.reset();
        restore_processes(processes, most_waiting_us);
    }
    for (const auto &[number, entry] : content.interrupts) {
        restore_interrupt(entry, proc, restored);
    }
    return restored;
}

std::string restored_text(const Restored &restored) {
    auto text = given_back_text(restored);
    if (restored.damaged) {
        text += text.empty() ? "" : "; ";
        text += "a journal is damaged: not all that it says may have been given back";
    }
    return text;
}

namespace {

/// @brief Add entries of a journal to those that were left before it. What this tuner found was what the one
/// before could not take back, either of two masks, also of a thread that was born with it.
void add_behind(std::map<TaskId, ThreadEntry> &left, const std::map<TaskId, ThreadEntry> &found) {
    const auto before = std::exchange(left, found);
    for (auto &[id, entry] : left) {
        const auto own = before.find(id);
        const auto entries = own != before.end() ? Entries{&own->second} : entries_of(before, entry.process);
        const auto original = inherited_original(entry.original, PuSet{}.set(), entries);
        entry.original = original.value_or(entry.original);
    }
    left.insert(before.begin(), before.end());
}

void add_behind(std::map<std::int32_t, InterruptEntry> &left, InterruptEntry entry) {
    const auto before = left.find(entry.number);
    if (before != left.end() &&
        (entry.original == before->second.after || entry.original == before->second.before)) {
        entry.original = before->second.original;
    }
    left.insert_or_assign(entry.number, entry);
}

/// @brief Add what a journal of this boot says to what was left before it.
/// @return false if it cannot be read
bool take_journal(int file, const std::string &boot, JournalContent &content) {
    struct stat status{};
    Text text;
    if (fstat(file, &status) != 0 || (status.st_size > 0 && !text.read(file))) {
        return false;
    }
    auto found = parse_journal(text.view());
    content.damaged = found.damaged;
    if (found.owner.number == 0 || found.boot != boot) { // its numbers may be those of other processes
        content.damaged = found.damaged && found.owner.number == 0;
        return true;
    }
    add_behind(content.threads, found.threads);
    for (const auto &[number, entry] : found.interrupts) {
        add_behind(content.interrupts, entry);
    }
    content.owner = found.owner;
    content.boot = boot;
    return true;
}

bool are_of_one_owner(int a, int b) {
    Text first, second;
    return first.read(a) && second.read(b) &&
           parse_journal(first.view()).owner == parse_journal(second.view()).owner;
}

/// @param[in] held what is read where there is no such file, or another tuner's; -1: there is none
bool take_journal(const std::string &path, int held, const std::string &boot, JournalContent &content) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && (errno != ENOENT || held < 0)) {
        return errno == ENOENT;
    }
    // Of one owner the file has what was added last.
    const bool is_of_another = file && held >= 0 && !are_of_one_owner(file.number(), held);
    const bool was_held_read = !is_of_another || (take_journal(held, boot, content) && !content.damaged);
    return take_journal(file ? file.number() : held, boot, content) && was_held_read;
}

} // namespace

Restored restore_held(int held, const std::string &proc, const std::string &sys) {
    JournalContent content;
    take_journal(held, boot_id(proc), content);
    return restore(content, proc, sys, for_good_us);
}

Restored restore_from(const std::string &state, const std::string &proc, const std::string &sys, int held) {
    const auto path = state + "/journal", kept = path + ".left", damaged = path + ".damaged";
    const auto boot = boot_id(proc);
    JournalContent content;
    bool were_read = true;
    std::vector<std::string> unreadable;
    for (const auto &each : {kept, path}) {
        were_read = take_journal(each, each == path ? held : -1, boot, content) && were_read;
        if (content.damaged) {
            unreadable.push_back(each);
        }
    }
    auto restored = restore(content, proc, sys, for_good_us);
    for (const auto &each :
         unreadable) { // only now: what can be read of it is needed by whoever has to do this again
        rename(each.c_str(), damaged.c_str());
    }
    restored.left.owner = content.owner;
    restored.left.boot = content.boot;
    if (!were_read) {
        ++restored.failed;
    } else if (restored.failed == 0) {
        unlink(kept.c_str());
        unlink(path.c_str());
    } else if (write_journal(kept, restored.left)) {
        unlink(path.c_str());
    }
    unlink((path + ".new").c_str());
    restored.damaged = access(damaged.c_str(), F_OK) == 0;
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
    const ssize_t count = file ? write(file.number(), list.data(), list.size()) : -1;
    if (count < 0) {
        return errno;
    }
    // Some are managed by their driver, or can only be where their controller lets them.
    const bool whole = count == static_cast<ssize_t>(list.size());
    return whole && interrupt_affinity(proc, number) == to ? 0 : EIO;
}

} // namespace rankwise::tune
