// SPDX-License-Identifier: BSD-3-Clause
#include "observe/observer.hpp"

#include <algorithm>
#include <set>

#include "observe/groups.hpp"
#include "observe/movers.hpp"
#include "observe/numa_pages.hpp"
#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

constexpr Seconds between_numa_maps = 10;

std::size_t count_numa_nodes(const Node &node) {
    std::set<std::int32_t> nodes;
    for (const auto &pu : node.pus) {
        nodes.insert(pu.numa);
    }
    return nodes.size();
}

} // namespace

Observer::Rank::Rank(const Places &places, const TaskId &id)
    : process(id), group(group_of(places.proc, id.number)), threads(places.proc, id.number),
      stopped(places.proc, places.sys, id.number), pages_due(between_numa_maps) {}

Observer::Observer(const Node &node, Places places)
    : places_(std::move(places)), directory_(places_.pages, places_.proc, places_.users),
      pus_(node, places_.proc, places_.sys), numa_nodes_(count_numa_nodes(node)) {
    for (const auto pid : places_.pids) {
        if (const auto stat = read_task_stat(places_.proc, pid)) {
            add({pid, stat->start}, std::nullopt);
        } else {
            notes_.push_back("process " + std::to_string(pid) + " does not run");
        }
    }
}

void Observer::add(const TaskId &id, std::optional<RankPage> page) {
    auto &rank = ranks_.try_emplace(id, places_, id).first->second;
    if (page) {
        rank.page = std::move(page);
        rank.share.reset();
    } else if (!rank.page && !rank.share && places_.proc == "/proc") {
        rank.share = MpiShare::open(id.number);
        if (!rank.share) {
            notes_.push_back("MPI's share of process " + std::to_string(id.number) +
                             " is not known: perf_event_open is not permitted");
        }
    }
}

void Observer::find_ranks() {
    for (auto &page : directory_.find_new()) {
        const auto id = page.owner().process;
        add(id, std::move(page));
    }
}

void Observer::read_pages_by_numa(Rank &rank, RankSample &sample) {
    const auto began = tick_moment().at;
    if (numa_nodes_ > 1 && rank.pages_due.due(began) &&
        text_.read(places_.proc + "/" + std::to_string(rank.process.number) + "/numa_maps")) {
        rank.pages_by_numa = parse_numa_maps(text_.view());
        // Of each rank, so that all together keep below the share that one may take.
        rank.pages_due = Seldom(between_numa_maps, 2e-4 / static_cast<double>(ranks_.size()));
        rank.pages_due.done(began, tick_moment().at);
    }
    sample.pages_by_numa = rank.pages_by_numa;
}

bool Observer::read(Rank &rank, bool light, RankSample &sample) {
    sample.process = rank.process;
    sample.group = rank.group;
    sample.has_dlb = rank.has_dlb;
    if (rank.page) {
        sample.progress = rank.page->read(!light);
        if (!sample.progress) {
            notes_.push_back("the page of process " + std::to_string(rank.process.number) +
                             " was damaged and is not read any more");
            rank.page.reset();
        }
    }
    if (light) {
        return true;
    }
    // The descriptors that are kept belong to one process, whatever has its number later; those of the first
    // listing might not.
    if (!rank.threads.read(text_, sample.threads) || sample.threads[0].id != rank.process) {
        return false;
    }
    sample.stopped = rank.stopped.read(text_, sample.threads);
    if (rank.share) {
        sample.sampled_mpi = rank.share->read(text_, sample.threads[0].run);
    }
    read_pages_by_numa(rank, sample);
    return true;
}

void Observer::look_for_movers() {
    const auto began = tick_moment().at;
    if (movers_due_.due(began)) {
        for (auto &[id, rank] : ranks_) {
            rank.has_dlb = has_dlb(text_, places_.proc, id);
        }
        movers_ = find_movers(text_, places_.proc, places_.sys);
        movers_due_.done(began, tick_moment().at);
    }
}

Sample Observer::sample(bool light) {
    Sample sample;
    sample.light = light;
    if (!light) {
        find_ranks();
        look_for_movers();
    }
    sample.at = tick_moment().at;
    sample.ranks.reserve(ranks_.size());
    for (auto at = ranks_.begin(); at != ranks_.end();) {
        if (read(at->second, light, sample.ranks.emplace_back())) {
            ++at;
        } else {
            sample.ranks.pop_back();
            at = ranks_.erase(at);
        }
    }
    if (light) {
        return sample;
    }
    sample.pus = pus_.read(text_);
    sample.movers = movers_;
    return sample;
}

} // namespace rankwise::tune
