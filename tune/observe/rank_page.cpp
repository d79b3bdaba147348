// SPDX-License-Identifier: BSD-3-Clause
#include "observe/rank_page.hpp"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <sys/stat.h>

#include "proc/open_beneath.hpp"
#include "proc/tasks.hpp"
#include "process/ticks.h"

namespace rankwise::tune {
namespace {

constexpr std::int32_t most_ranks_of_program = 1 << 24; // more than any machine has

/// Of another moment than this one's: ticks of a page that were taken on another core may be ahead of ours.
Seconds since(std::uint64_t ticks, const TickMoment &moment, double ticks_per_s) {
    return ticks == 0 || ticks > moment.ticks ? 0 : static_cast<double>(moment.ticks - ticks) / ticks_per_s;
}

} // namespace

std::optional<PageOwner> owner_of(const rw_tune_page &page) {
    const bool sound = page.magic == RW_TUNE_MAGIC && page.version == RW_TUNE_VERSION &&
                       page.page_bytes == sizeof(rw_tune_page) && page.pid > 0 && page.rank >= 0 &&
                       page.ranks > page.rank && page.ranks <= most_ranks_of_program &&
                       page.ticks_per_s >= 1e6 && page.ticks_per_s <= 1e12;
    if (!sound) {
        return std::nullopt;
    }
    return PageOwner{{page.pid, page.process_start}, page.rank, page.ranks};
}

TickMoment tick_moment() {
    const auto ticks = rw_ticks();
    return {ticks, static_cast<double>(rw_clock_ns(CLOCK_MONOTONIC)) * 1e-9};
}

Progress progress_of(const rw_tune_page &page, const TickMoment &moment, bool peers) {
    const double rate = page.ticks_per_s;
    const Seconds under_way = since(page.entered, moment, rate);
    Progress progress;
    progress.rank = page.rank;
    progress.ranks = page.ranks;
    progress.calls = page.calls;
    progress.iterations = page.iterations;
    progress.anchor = page.anchor;
    progress.mpi = static_cast<double>(page.mpi_ticks) / rate + under_way;
    progress.wait = static_cast<double>(page.wait_ticks) / rate + under_way;
    if (page.iterations > 0) {
        progress.iteration_end = moment.at - since(page.iteration_ticks, moment, rate);
    }
    progress.known_by =
        page.known_by <= RW_TUNE_BY_PCONTROL ? static_cast<int>(page.known_by) : RW_TUNE_NOT_KNOWN;
    progress.ended = page.ended != 0;
    progress.messages = page.messages;
    progress.bytes = page.bytes;
    for (const auto &peer : std::span(page.peer).first(peers ? std::min(page.peers, RW_TUNE_PEERS) : 0)) {
        if (peer.rank > 0 && peer.rank <= page.ranks) {
            progress.peers.push_back({peer.rank - 1, peer.messages, peer.bytes});
        }
    }
    return progress;
}

std::optional<RankPage> RankPage::open(int directory, const std::string &name, const std::string &proc,
                                       std::uint32_t user, const std::vector<std::uint32_t> &users) {
    // It may be anything: a link, a pipe, another user's.
    auto file = open_beneath(directory, name.c_str(), O_RDONLY);
    struct stat status{};
    rw_tune_page page{};
    if (!file || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
        pread(file.number(), &page, sizeof page, 0) != sizeof page) {
        return std::nullopt;
    }
    const auto owner = owner_of(page);
    struct stat process{};
    if (!owner || ::stat((proc + "/" + std::to_string(owner->process.number)).c_str(), &process) != 0 ||
        process.st_uid != status.st_uid || status.st_uid != user ||
        (!users.empty() && std::ranges::find(users, process.st_uid) == users.end())) {
        return std::nullopt;
    }
    const auto task = read_task_stat(proc, owner->process.number);
    if (!task || task->start != owner->process.start) {
        return std::nullopt;
    }
    return RankPage(std::move(file), *owner, user);
}

std::optional<Progress> RankPage::read(bool peers) {
    rw_tune_page page{};
    if (pread(file_.number(), &page, sizeof page, 0) != sizeof page) {
        return std::nullopt;
    }
    const auto owner = owner_of(page);
    if (!owner || owner->process != owner_.process || owner->rank != owner_.rank) {
        return std::nullopt;
    }
    auto progress = progress_of(page, tick_moment(), peers);
    progress.mpi = mpi_ = std::max(mpi_, progress.mpi);
    progress.wait = wait_ = std::max(wait_, progress.wait);
    return progress;
}

} // namespace rankwise::tune
