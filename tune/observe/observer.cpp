// SPDX-License-Identifier: BSD-3-Clause
#include "observe/observer.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <set>
#include <sys/stat.h>

#include "observe/groups.hpp"
#include "observe/numa_pages.hpp"
#include "proc/tasks.hpp"

namespace rankwise::tune {
namespace {

constexpr Seconds between_numa_maps = 10, before_numa_maps = 5;

// A user's, so that none takes the others' room, and all together's, so that a sample has some MB at most.
constexpr std::size_t most_ranks_of_user = 1024, most_ranks = 2048;
constexpr std::size_t most_threads_of_rank = 1024, most_threads_of_user = 4096, most_threads = 8192;

std::size_t count_numa_nodes(const Node &node) {
    std::set<std::int32_t> nodes;
    for (const auto &pu : node.pus) {
        nodes.insert(pu.numa);
    }
    return nodes.size();
}

std::string at_most(const char *who, std::size_t count) {
    return std::string(who) + " may have " + std::to_string(count) + ")";
}

std::uint32_t user_of(const std::string &proc, std::int32_t process) {
    struct stat status{};
    return stat((proc + "/" + std::to_string(process)).c_str(), &status) == 0 ? status.st_uid : 0;
}

Seconds processor_time() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<Seconds>(used.tv_sec) + static_cast<Seconds>(used.tv_nsec) * 1e-9;
}

} // namespace

Observer::Rank::Rank(const Places &places, const TaskId &id, std::uint32_t owner, std::int32_t ranks)
    : process(id), user(owner), group(group_of(places.proc, id.number, ranks, places.in_lab)),
      threads(places.proc, id.number), stopped(places.proc, places.sys, id.number),
      pages_due(between_numa_maps), pages_due_again(between_numa_maps) {}

Observer::Observer(const Node &node, Places places)
    : places_(std::move(places)), directory_(places_.pages, places_.proc, places_.users),
      pus_(node, places_.proc, places_.sys), limit_reader_(node, places_.sys), memory_(node, places_.sys),
      numa_nodes_(count_numa_nodes(node)), mover_reader_(places_.proc, places_.sys),
      queues_(places_.proc, places_.sys), own_network_(has_own_network(places_.proc)) {
    for (const auto pid : places_.pids) {
        if (const auto stat = read_task_stat(places_.proc, pid)) {
            add({pid, stat->start}, user_of(places_.proc, pid), std::nullopt);
        } else {
            notes_.push_back("process " + std::to_string(pid) +
                             (sees_all_processes(text_, places_.proc)
                                  ? " does not run"
                                  : " does not run, or cannot be seen: /proc is mounted with hidepid"));
        }
    }
}

void Observer::add(const TaskId &id, std::uint32_t user, std::optional<RankPage> page) {
    auto at = ranks_.find(id);
    if (at != ranks_.end() && page) {
        // It was given before it had a page. What has none, a job's helpers, changes places with no rank.
        at->second.group = group_of(places_.proc, id.number, page->owner().ranks, places_.in_lab);
    }
    if (at == ranks_.end()) {
        at = ranks_.try_emplace(id, places_, id, user, page ? page->owner().ranks : 0).first;
        const auto of_user = ++used_[user].ranks, of_all = ++used_by_all_.ranks;
        if (of_user > most_ranks_of_user || of_all > most_ranks) {
            refuse(at->second,
                   "there are too many ranks (" + (of_user > most_ranks_of_user
                                                       ? at_most("one user", most_ranks_of_user)
                                                       : at_most("all users together", most_ranks)));
            erase(at);
            return;
        }
    }
    auto &rank = at->second;
    if (page) {
        rank.page = std::move(page);
        rank.share.reset();
        // In MPI_Init a rank has hardly touched what it computes on.
        const auto now = tick_moment().at;
        rank.pages_due = Seldom(before_numa_maps);
        rank.pages_due.done(now, now);
    }
    // It is there before MPI is begun. Nothing is changed beside it, however long ago others were looked for.
    rank.has_dlb = has_dlb(text_, places_.proc, id);
}

void Observer::open_share(Rank &rank) {
    rank.share_asked = true;
    rank.share = MpiShare::open(rank.process.number);
    if (!rank.share) {
        notes_.push_back("MPI's share of process " + std::to_string(rank.process.number) +
                         " is not known: perf_event_open is not permitted");
    }
}

Observer::Ranks::iterator Observer::erase(Ranks::iterator rank) {
    const auto used = used_.find(rank->second.user);
    for (auto *const each : {&used->second, &used_by_all_}) {
        --each->ranks;
        each->threads -= rank->second.thread_count;
    }
    if (used->second.ranks == 0) {
        used_.erase(used);
    }
    return ranks_.erase(rank);
}

void Observer::refuse(const Rank &rank, const std::string &why) {
    if (refused_.insert(rank.user).second) {
        notes_.push_back("not all ranks of user " + std::to_string(rank.user) + " are tuned: " + why +
                         ", of process " + std::to_string(rank.process.number) + " for one");
    }
}

void Observer::find_ranks() {
    for (auto &page : directory_.find_new()) {
        const auto id = page.owner().process;
        const auto user = page.user();
        // Others that have pages there were not given.
        if (places_.pids.empty() || ranks_.contains(id)) {
            add(id, user, std::move(page));
        }
    }
    for (auto &[id, rank] : ranks_) {
        if (!rank.page && !rank.share_asked && places_.proc == "/proc") {
            open_share(rank);
        }
    }
}

bool Observer::read_threads(Rank &rank, RankSample &sample) {
    auto &used = used_[rank.user];
    const auto left = [&](std::size_t most, std::size_t taken) {
        return most - std::min(taken - rank.thread_count, most);
    };
    // One that was seen with as many goes on to be: its masks may be changed.
    const auto of_user = left(most_threads_of_user, used.threads),
               of_all = left(most_threads, used_by_all_.threads);
    const auto most = std::max(rank.thread_count, std::min({most_threads_of_rank, of_user, of_all}));
    // The descriptors that are kept belong to one process, whatever has its number later; those of the first
    // listing might not.
    if (!rank.threads.read(text_, sample.threads, most) || sample.threads[0].id != rank.process) {
        if (rank.threads.has_too_many()) {
            refuse(rank, "there are too many threads (" +
                             (most_threads_of_rank <= std::min(of_user, of_all)
                                  ? at_most("one rank", most_threads_of_rank)
                              : of_user <= of_all ? at_most("one user", most_threads_of_user)
                                                  : at_most("all users together", most_threads)));
        }
        return false;
    }
    for (auto *const each : {&used, &used_by_all_}) {
        each->threads += sample.threads.size() - rank.thread_count;
    }
    rank.thread_count = sample.threads.size();
    return true;
}

void Observer::read_pages_by_numa(Rank &rank, bool is_due) {
    const auto began = tick_moment().at;
    if (numa_nodes_ <= 1 || !is_due) {
        return;
    }
    const auto directory = places_.proc + "/" + std::to_string(rank.process.number);
    const auto allowed = text_.read(directory + "/status") ? memories_in_status(text_.view()) : std::nullopt;
    if (text_.read(directory + "/numa_maps", Text::most_of_users)) {
        rank.pages = parse_numa_maps(text_.view(), allowed.value_or(PuSet{}.set()));
        // Of each rank, so that all together keep below the share that one may take.
        rank.pages_due = Seldom(between_numa_maps, 2e-4 / static_cast<double>(ranks_.size()));
        rank.pages_due.done(began, tick_moment().at);
        rank.pages_due_again.done(began, began);
    }
}

void Observer::look_at_pages(const std::set<TaskId> &processes) {
    for (const auto &process : processes) {
        if (const auto rank = ranks_.find(process); rank != ranks_.end()) {
            rank->second.pages_due = Seldom(between_numa_maps);
            rank->second.pages = {};
        }
    }
}

NumaPages Observer::pages_by_numa(const TaskId &process) {
    const auto at = ranks_.find(process);
    if (at == ranks_.end()) {
        return {};
    }
    read_pages_by_numa(at->second, at->second.pages_due_again.due(tick_moment().at));
    return at->second.pages;
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
        return rank.is_read;
    }
    const auto began = tick_moment().at;
    rank.is_read = (rank.is_read || rank.again.due(began)) && read_threads(rank, sample);
    if (!rank.is_read) {
        if (rank.again.due(began)) {
            rank.again.done(began, tick_moment().at);
        }
        return false;
    }
    sample.stopped = rank.stopped.read(text_, sample.threads);
    if (rank.share) {
        sample.sampled_mpi = rank.share->read(text_, sample.threads[0].run);
    }
    read_pages_by_numa(rank, rank.pages_due.due(tick_moment().at));
    sample.pages = rank.pages;
    return true;
}

Seconds Observer::look_at_units() {
    const auto now = tick_moment().at;
    if (units_due_.due(now)) {
        const auto used = processor_time();
        for (auto &[id, rank] : ranks_) {
            rank.threads.look_at_units(text_);
        }
        // While it waits for a processor, as beside ranks that use all, it costs them nothing.
        units_due_.done(now, now + (processor_time() - used));
    }
    return units_due_.next();
}

void Observer::look_for_movers() {
    for (auto &[id, rank] : ranks_) {
        rank.has_dlb = has_dlb(text_, places_.proc, id);
    }
    find_movers(true);
}

void Observer::find_movers(bool all) {
    const auto began = tick_moment().at;
    const bool is_first = movers_due_.due(0);
    movers_ = mover_reader_.read(text_, all);
    if (!std::exchange(movers_hidden_, !sees_all_processes(text_, places_.proc)) && movers_hidden_) {
        notes_.emplace_back(hidden_processes);
    }
    // What a look at all of them took says nothing of the next one.
    const auto ended = tick_moment().at;
    movers_due_.done(all || is_first ? ended : began, ended);
}

void Observer::add_queues(std::vector<PuSample> &pus) {
    const auto &queues = queues_.read(text_);
    for (auto &pu : pus) {
        const auto steered = queues.steered.find(pu.line);
        pu.line_steered = steered != queues.steered.end() && steered->second.any();
        pu.steered_to = queues.steered_to.test(static_cast<std::size_t>(pu.os));
    }
    limits_.queues = queues.sentences;
    if (own_network_) {
        limits_.unknown.emplace_back(hidden_network);
    }
    for (auto &sentence : queues_.changed()) {
        notes_.push_back(std::move(sentence));
    }
}

Sample Observer::sample(bool light) {
    Sample sample;
    sample.light = light;
    if (!light) {
        find_ranks();
        if (movers_due_.due(tick_moment().at)) {
            find_movers(false);
        }
    }
    sample.at = tick_moment().at;
    sample.ranks.reserve(ranks_.size());
    for (auto at = ranks_.begin(); at != ranks_.end();) {
        if (read(at->second, light, sample.ranks.emplace_back())) {
            ++at;
        } else {
            sample.ranks.pop_back();
            // One that lives is looked at again: it had too many threads, or there were no descriptors.
            at = !light && has_ended(places_.proc, at->first) ? erase(at) : std::next(at);
        }
    }
    if (light) {
        return sample;
    }
    sample.pus = pus_.read(text_);
    sample.clocks_at = pus_.clocks_at();
    limits_ = limit_reader_.read(text_, sample.pus);
    add_queues(sample.pus);
    sample.memory_bytes = memory_.read(text_);
    sample.counted_at_memory = memory_.is_at_memory();
    if (!memory_.is_counted()) {
        limits_.unknown.emplace_back("memory traffic: " + memory_.why_not());
    } else if (sample.memory_bytes.empty()) {
        limits_.unknown.emplace_back("memory traffic: its counters say nothing just now");
    }
    sample.movers = movers_;
    sample.movers_hidden = movers_hidden_;
    if (movers_hidden_) {
        limits_.unknown.emplace_back(hidden_processes);
    }
    return sample;
}

} // namespace rankwise::tune
