// SPDX-License-Identifier: BSD-3-Clause
#include "serve/status.hpp"

#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include "proc/clock.hpp"

namespace rankwise::tune {

namespace {

constexpr std::size_t most_recent = 64;

Seconds seconds(const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Second number of /proc/self/statm: pages in memory.
std::uint64_t resident_pages() {
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    std::array<char, 128> text{};
    const ssize_t size = read(file, text.data(), text.size());
    close(file);
    std::string_view words(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    words.remove_prefix(std::min(words.find(' '), words.size() - 1) + 1);
    std::uint64_t pages = 0;
    std::from_chars(words.data(), words.data() + words.size(), pages);
    return pages;
}

bool ends_decision(Event::What what) {
    return what == Event::refused || what == Event::failed || what == Event::kept || what == Event::undone;
}

bool is_of_decision(const Event &event) {
    return event.what == Event::proposed || event.what == Event::applied || event.what == Event::measured ||
           (event.what == Event::refused ? !event.change.empty() : ends_decision(event.what));
}

} // namespace

void Status::add(const Event &event, std::string line) {
    if (began == 0) {
        began = event.at;
        began_unix = event.at + clock_s(CLOCK_REALTIME) - clock_s(CLOCK_MONOTONIC);
    }
    ++counts[event.what];
    switch (event.what) {
    case Event::rank_found:
        ++groups[event.group].ranks;
        break;
    case Event::rank_gone:
        if (const auto group = groups.find(event.group); group != groups.end() && --group->second.ranks <= 0)
            groups.erase(group);
        break;
    case Event::stood_back:
        stands_back = event.why;
        break;
    case Event::resumed:
        stands_back.clear();
        break;
    default:
        break;
    }
    // What is given back at the end is told as a sum, without a change.
    if (event.what == Event::applied || (event.what == Event::restored && !event.change.empty())) {
        last_change = event.at;
        moved_ranks += event.change.moves.size();
        moved_interrupts += event.change.interrupts.size();
        moved_pages += event.change.pages.size();
    }
    if (const auto group = groups.find(event.group); group != groups.end() && event.rate) {
        group->second.rate = *event.rate;
        group->second.rate_of = event.rate_of;
    }
    if (line.empty() || !is_of_decision(event))
        return;
    recent.push_back({event.what, std::move(line)});
    if (recent.size() > most_recent)
        drop_first_decision();
}

void Status::see(const std::vector<RankSample> &ranks) {
    for (auto &[name, group] : groups)
        group.major_faults = group.migrations = 0;
    for (const RankSample &rank : ranks)
        if (const auto group = groups.find(rank.group); group != groups.end())
            for (const ThreadSample &thread : rank.threads) {
                group->second.major_faults += thread.major_faults;
                group->second.migrations += thread.migrations;
            }
}

void Status::drop_first_decision() {
    Event::What last{};
    do {
        last = recent.front().what;
        recent.pop_front();
    } while (!recent.empty() && !ends_decision(last) && recent.front().what != Event::proposed);
}

std::int64_t Status::ranks() const {
    std::int64_t sum = 0;
    for (const auto &[name, group] : groups)
        sum += group.ranks;
    return sum;
}

OwnCost own_cost(std::int32_t guard) {
    rusage own{}, ended{};
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &ended);
    clockid_t clock{};
    const Seconds lives = guard > 0 && clock_getcpuclockid(guard, &clock) == 0 ? clock_s(clock) : 0;
    return {seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(ended.ru_utime) +
                seconds(ended.ru_stime) + lives,
            resident_pages() * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
}

} // namespace rankwise::tune
