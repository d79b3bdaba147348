// SPDX-License-Identifier: BSD-3-Clause
#include "observe/threads.hpp"

#include <algorithm>
#include <fcntl.h>
#include <utility>

#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

constexpr int most_lists = 3; // of a process that makes and ends threads all the time
// Where threads ran is told of a window, which may be of several readings, and forgotten when nobody looks
// any more. Of very many threads, looks are some ten seconds apart.
constexpr int readings_without_looks = 60;

/// What a thread ran since a look counts for the unit that it is on now.
/// @param[in] before its unit, and what it had run, at that look
void count_run(ThreadSample &thread, const std::pair<std::int32_t, Seconds> &before) {
    auto &run_on = thread.run_on;
    if (run_on.empty()) {
        if (before.first < 0 || before.first == thread.pu) {
            return;
        }
        run_on.push_back(before);
    }
    auto own = std::ranges::find(run_on, thread.pu, &std::pair<std::int32_t, Seconds>::first);
    if (own == run_on.end()) {
        own = run_on.insert(own, {thread.pu, 0});
    }
    own->second += thread.run - before.second;
}

} // namespace

ThreadReader::ThreadReader(const std::string &proc, std::int32_t process)
    : directory_(proc + "/" + std::to_string(process) + "/task"), process_(process),
      made_up_(proc != "/proc"), task_(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      clock_tick_s_(1.0 / static_cast<double>(std::max(sysconf(_SC_CLK_TCK), 1L))) {}

bool ThreadReader::list() {
    if (!task_) { // there were no descriptors
        task_ = Descriptor(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    if (!task_ || !list_threads(task_.number(), process_, numbers_)) {
        return false;
    }
    std::vector<Thread> threads;
    threads.reserve(numbers_.size());
    for (const auto number : numbers_) {
        const auto known = std::ranges::find(threads_, number, &Thread::number);
        if (known != threads_.end()) {
            threads.push_back(std::move(*known));
            known->number = -1;
        } else {
            const auto path = directory_ + "/" + std::to_string(number);
            threads.push_back({number, KeptFile(path + "/stat"), KeptFile(path + "/schedstat"), {}, {}});
        }
    }
    threads_ = std::move(threads);
    return true;
}

bool ThreadReader::read_stat(Thread &thread, Text &text) {
    const auto stat = thread.stat.read(text) ? parse_task_stat(text.view()) : std::nullopt;
    if (!stat) {
        return false;
    }
    if (thread.number == process_) {
        said_threads_ = stat->threads;
    }
    auto &seen = thread.seen;
    if (seen.pu >= 0 && seen.pu != stat->pu) {
        ++seen.migrations;
    }
    seen.id = {thread.number, stat->start};
    seen.state = stat->state;
    seen.pu = stat->pu;
    seen.major_faults = stat->major_faults;
    seen.run = static_cast<double>(stat->ticks) * clock_tick_s_;
    return true;
}

bool ThreadReader::read_times(Thread &thread, Text &text) {
    const auto before = std::pair(thread.seen.pu, thread.seen.run);
    std::optional<Turns> turns; // none in kernels without CONFIG_SCHED_INFO
    if (thread.schedstat.read(text)) {
        auto line = text.view();
        const auto run = as_number(next_word(line)), queued = as_number(next_word(line)),
                   count = as_number(next_word(line));
        if (run && queued && count) {
            turns = {*run, *queued, *count};
        }
    }
    // A thread that had no core meanwhile is as it was, also for signals: what is dearest to read need not
    // be. How many threads there are says the main thread's.
    const bool is_as_it_was = turns && thread.turns == turns && thread.number != process_;
    if (!is_as_it_was && !read_stat(thread, text)) {
        return false;
    }
    thread.turns = turns;
    if (turns) {
        thread.seen.run = static_cast<double>(turns->run_ns) * 1e-9;
        thread.seen.queued = static_cast<double>(turns->queued_ns) * 1e-9;
    }
    if (unlooked_ < readings_without_looks) {
        count_run(thread.seen, before);
    } else if (!thread.seen.run_on.empty()) {
        thread.seen.run_on = {};
        ++thread.seen.run_on_number;
    }
    return true;
}

bool ThreadReader::read_one(Thread &thread, Text &text, ThreadSample &sample) {
    if (!read_times(thread, text)) {
        return false;
    }
    auto mask = made_up_ ? std::nullopt : affinity_of(thread.number);
    if (made_up_ && text.read(directory_ + "/" + std::to_string(thread.number) + "/status")) {
        mask = mask_in_status(text.view());
    }
    if (!mask) {
        return false;
    }
    // To compare it is quicker than to look for the one that all with equal masks have.
    if (!(thread.seen.mask == *mask)) {
        thread.seen.mask = *mask;
    }
    sample = thread.seen;
    return true;
}

void ThreadReader::look_at_units(Text &text) {
    unlooked_ = 0;
    for (auto &thread : threads_) {
        // One that cannot be read has ended: the next reading sees to that.
        if ((*thread.seen.mask).count() > 1) {
            read_times(thread, text);
        }
    }
}

bool ThreadReader::read(Text &text, std::vector<ThreadSample> &threads, std::size_t most) {
    ++unlooked_;
    // The list is read again only where a thread has ended, or the number of them is another: one system call
    // a rank less.
    for (int lists = 0; lists < most_lists; ++lists) {
        if ((lists > 0 || threads_.empty()) && !list()) {
            return false;
        }
        has_too_many_ = threads_.size() > most;
        if (has_too_many_) {
            threads_.clear(); // listed anew the next time
            return false;
        }
        threads.resize(threads_.size());
        std::size_t read = 0;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            read += read_one(threads_[i], text, threads[read]) ? 1 : 0;
        }
        const bool all = read == threads_.size() && said_threads_ == threads_.size();
        threads.resize(read);
        if (all) {
            break;
        }
    }
    // A zombie's main thread is still listed, with no others.
    const bool ended =
        threads.empty() || (threads.size() == 1 && (threads[0].state == 'Z' || threads[0].state == 'X'));
    return !ended;
}

} // namespace rankwise::tune
