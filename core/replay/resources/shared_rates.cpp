// SPDX-License-Identifier: BSD-3-Clause
#include "replay/resources/shared_rates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rankwise::replay {

using machine::CoreSharing;
using machine::Machine;
using machine::Placement;

namespace {

/// As std::llround, of numbers that fit; it is called for every job.
Picoseconds nearest(double number) {
    const auto towards_zero = static_cast<Picoseconds>(number);
    const double rest = number - static_cast<double>(towards_zero);
    return towards_zero + (rest >= 0.5) - (rest <= -0.5);
}

} // namespace

SharedRates::SharedRates(const Schedule &schedule, const Machine &machine, const Placement &placement,
                         const Lookahead &ahead, std::size_t processors)
    : machine_(machine), looked_back_(ahead.passing),
      kinds_(2 + static_cast<std::uint32_t>(machine.link_classes.size())),
      of_rank_(std::size_t{schedule.ranks()} * kinds_, any), processors_(placement.capacity.size()),
      ends_(ahead.queues), starts_(processors), groups_of_(ends_.size()),
      shared_core_of_(schedule.ranks(), any) {
    std::vector<bool> is_shared(processors_.size());
    std::vector<std::uint32_t> users(processors_.size());
    for (const std::uint32_t processor : placement.processor)
        ++users[processor];
    for (std::size_t p = 0; p < processors_.size(); ++p) {
        processors_[p].capacity = placement.capacity[p];
        is_shared[p] = machine.core_sharing != CoreSharing::none && users[p] > placement.capacity[p];
    }
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r)
        if (is_shared[placement.processor[r]]) {
            shared_core_of_[r] = placement.processor[r];
            any_core_is_shared_ = true;
        }
    if (machine.interrupts.exists)
        for (const std::uint32_t processor : placement.interrupt_processor)
            if (processor != Placement::none)
                is_shared[processor] = true;

    std::vector<std::uint32_t> first_domain;
    for (std::uint32_t b = 0; b < machine.bandwidths.size(); ++b) {
        first_domain.push_back(static_cast<std::uint32_t>(domains_.size()));
        std::uint32_t count = 0;
        for (const std::uint32_t domain : placement.domain[b])
            count = domain == Placement::none ? count : std::max(count, domain + 1);
        for (std::uint32_t d = 0; d < count; ++d) {
            Domain &domain = domains_.emplace_back();
            domain.resource = b;
            domain.number = d;
        }
    }

    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        std::uint32_t *const of_rank = &of_rank_[std::size_t{r} * kinds_];
        const std::uint32_t p = placement.processor[r];
        const std::uint32_t processor = is_shared[p] ? p : any,
                            queue = ahead.queue_of_node[placement.node[r]];
        const auto domains = [&](const auto &uses) {
            std::vector<std::uint32_t> out;
            for (std::uint32_t b = 0; b < machine.bandwidths.size(); ++b)
                if (uses(machine.bandwidths[b]) && placement.domain[b][r] != Placement::none)
                    out.push_back(first_domain[b] + placement.domain[b][r]);
            return out;
        };
        const double memory_bound = placement.memory_bound.empty() ? 0 : placement.memory_bound[r];
        Key computing{processor, true, memory_bound, {}};
        if (memory_bound > 0)
            computing.domains = domains([](const auto &b) { return b.computation; });
        of_rank[0] = group_for(computing, queue);
        of_rank[1] = group_for({processor, false, 0, {}}, queue);
        for (std::uint32_t link = 0; link < kinds_ - 2; ++link)
            of_rank[2 + link] = group_for(
                {processor, false, 1, domains([&](const auto &b) { return b.copies[link] != 0; })}, queue);
        if (processor != any)
            processors_[p].users.unfinished += schedule.first[r + 1] > schedule.first[r];
    }
    for (Processor &processor : processors_)
        set_shares(0, processor);
    changed_.clear(); // nothing is under way
    for (Group &group : groups_)
        group.is_changed = false;
    for (NextEnds &ends : ends_)
        ends.build();
}

std::uint32_t SharedRates::group_for(Key key, std::uint32_t queue) {
    if (key.domains.empty()) {
        if (key.processor == any)
            return any;
        key = {key.processor, false, 0, {}}; // whatever they are, only the core can slow them
    }
    const auto [found, is_new] = number_of_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) {
        Group &group = groups_.emplace_back();
        group.processor = key.processor;
        group.has_domains = !key.domains.empty();
        group.as_recorded = key.computes && machine_.computation_is_as_recorded;
        group.queue = queue;
        group.has_sums =
            group.has_domains || machine_.interrupts.exists || machine_.computation_is_as_recorded;
        group.end = ends_[queue].add();
        groups_of_[queue].push_back(found->second);
        if (key.processor != any) {
            Processor &processor = processors_[key.processor];
            if (processor.group == any) {
                processor.group = found->second;
            } else {
                processor.has_more_groups = true;
                further_groups_[key.processor].push_back(found->second);
            }
        }
        for (const std::uint32_t domain : key.domains)
            domains_[domain].groups.push_back(found->second);
        keys_.push_back(std::move(key));
    }
    return found->second;
}

void SharedRates::advance(Group &group, Picoseconds now) {
    if (now == group.last)
        return;
    const auto time = static_cast<double>(now - group.last);
    group.last = now;
    if (group.jobs.empty())
        return;
    group.virtual_time += time * group.rate;
    if (!group.has_sums)
        return;
    group.sums.shared += time * (1 - group.share_of_ranks);
    group.sums.interrupted += time * (group.share_of_ranks - group.share);
    group.sums.memory += time * (group.share - group.rate);
    group.sums.alone += time * group.rate_alone();
}

void SharedRates::advance(Domain &domain, Picoseconds now) {
    if (domain.jobs > 0)
        domain.busy += now - domain.last;
    if (domain.stretch > 1)
        domain.saturated += now - domain.last;
    domain.last = now;
}

void SharedRates::set_next_ends(Picoseconds now) {
    for (const std::uint32_t number : changed_) {
        Group &group = groups_[number];
        group.is_changed = false;
        ends_[group.queue].set(group.end, next_end(now, group));
    }
    changed_.clear();
}

NextEnd SharedRates::next_end(Picoseconds now, Group &group) {
    advance(group, now);
    if (group.jobs.empty())
        return {machine::never, any, any};
    const Job &first = group.jobs.front();
    if (group.share == 0)
        return {machine::never, first.key, first.processor};
    const Picoseconds left = nearest((first.end - group.virtual_time) / group.rate);
    return {now + std::max<Picoseconds>(0, left), first.key, first.processor};
}

void SharedRates::start(Picoseconds now, std::uint32_t number, std::uint32_t key, std::uint32_t processor,
                        Work work) {
    Group &group = groups_[number];
    advance(group, now);
    group.jobs.push_back({group.virtual_time + static_cast<double>(work.time), key, processor});
    std::push_heap(group.jobs.begin(), group.jobs.end(), later);
    if (group.has_sums) {
        const std::int64_t bytes_per_s = nearest(work.bytes_per_s * per_byte);
        starts_[processor] = {group.sums, bytes_per_s};
        group.bytes_per_s += bytes_per_s;
    }
    came_or_went(now, number, group, true);
}

SharedRates::Ended SharedRates::finish(Picoseconds now, std::uint32_t number, Picoseconds longer) {
    Group &group = groups_[number];
    advance(group, now);
    const std::uint32_t processor = group.jobs.front().processor;
    std::pop_heap(group.jobs.begin(), group.jobs.end(), later);
    group.jobs.pop_back();
    Ended ended{longer, 0, 0, 0};
    if (group.has_sums) {
        const Start &start = starts_[processor];
        group.bytes_per_s -= start.bytes_per_s;
        ended = {nearest(group.sums.shared - start.sums.shared),
                 nearest(group.sums.interrupted - start.sums.interrupted),
                 nearest(group.sums.memory - start.sums.memory),
                 nearest(group.sums.alone - start.sums.alone)};
        // What rounding left over goes to the largest.
        const Picoseconds rest = longer - ended.shared - ended.interrupted - ended.memory;
        std::max({std::ref(ended.shared), std::ref(ended.interrupted), std::ref(ended.memory)},
                 std::less<Picoseconds>())
            .get() += rest;
    }
    if (group.jobs.empty()) {
        group.virtual_time = 0;
        group.sums = {};
    }
    came_or_went(now, number, group, false);
    return ended;
}

void SharedRates::interrupt(std::uint32_t number, bool begins) {
    Processor &processor = processors_[number];
    begins ? ++processor.users.interrupts : --processor.users.interrupts;
    change(number);
}

void SharedRates::finished(std::uint32_t rank) {
    const std::uint32_t group = other(rank);
    if (group == any)
        return;
    --processors_[groups_[group].processor].users.unfinished;
    change(groups_[group].processor);
}

void SharedRates::change(std::uint32_t processor) {
    if (!processors_[processor].is_changed)
        changed_processors_.push_back(processor);
    processors_[processor].is_changed = true;
    is_unsettled_ = true;
}

void SharedRates::set_rates(Picoseconds now) {
    for (const std::uint32_t processor : changed_processors_) {
        processors_[processor].is_changed = false;
        set_shares(now, processors_[processor]);
    }
    changed_processors_.clear();
    set_stretches(now);
    set_next_ends(now);
    is_unsettled_ = false;
}

void SharedRates::note(std::uint32_t number, Group &group) {
    if (!group.is_changed)
        changed_.push_back(number);
    group.is_changed = true;
}

void SharedRates::touch_domains(std::uint32_t group) {
    if (!groups_[group].has_domains)
        return;
    for (const std::uint32_t domain : keys_[group].domains) {
        if (!domains_[domain].is_changed)
            changed_domains_.push_back(domain);
        domains_[domain].is_changed = true;
    }
}

void SharedRates::came_or_went(Picoseconds now, std::uint32_t number, Group &group, bool came) {
    note(number, group);
    if (group.has_domains) {
        for (const std::uint32_t domain : keys_[number].domains) {
            advance(domains_[domain], now);
            came ? ++domains_[domain].jobs : --domains_[domain].jobs;
        }
        touch_domains(number);
    }
    if (group.processor != any) {
        Processor &processor = processors_[group.processor];
        came ? ++processor.users.jobs : --processor.users.jobs;
        change(group.processor);
    }
    is_unsettled_ = true;
}

/// Each job's share of a processor: its cores less those that interrupts have, by the ranks that want one.
void SharedRates::set_shares(Picoseconds now, Processor &processor) {
    if (processor.users == processor.served)
        return;
    processor.served = processor.users;
    const auto &[jobs, unfinished, interrupts] = processor.users;
    const double cores = processor.capacity;
    const double left = std::max(0.0, cores - interrupts);
    const CoreUsers users{std::max(jobs, unfinished), jobs};
    const bool spin = machine_.core_sharing == CoreSharing::spin;
    const double sharing =
        machine_.core_sharing == CoreSharing::none ? std::min<double>(jobs, cores) : users.sharing(spin);
    if (machine_.core_sharing != CoreSharing::none)
        processor.idle.set_rate(now, left > 0 ? idle_rate(left, users, spin) : 0, now - looked_back_);
    const double among = std::max(1.0, sharing);
    const double share = std::min(1.0, left / among), share_of_ranks = std::min(1.0, cores / among);
    const auto set_share = [&](std::uint32_t number) {
        Group &group = groups_[number];
        if (group.share == share && group.share_of_ranks == share_of_ranks)
            return;
        advance(group, now);
        group.share = share;
        group.share_of_ranks = share_of_ranks;
        group.set_rate();
        if (group.jobs.empty())
            return;
        note(number, group);
        touch_domains(number);
    };
    if (processor.group == any)
        return;
    set_share(processor.group);
    if (processor.has_more_groups)
        for (const std::uint32_t number :
             further_groups_.at(static_cast<std::uint32_t>(&processor - processors_.data())))
            set_share(number);
}

void SharedRates::set_stretches(Picoseconds now) {
    for (const std::uint32_t number : changed_domains_) {
        Domain &domain = domains_[number];
        domain.is_changed = false;
        const machine::Bandwidth &memory = machine_.bandwidths[domain.resource];
        double copied = 0, cores = 0, waiting = 0;
        for (const std::uint32_t g : domain.groups) {
            const Group &group = groups_[g];
            if (group.jobs.empty())
                continue;
            if (keys_[g].computes) {
                const double at_work = group.share * static_cast<double>(group.jobs.size());
                cores += at_work;
                waiting += at_work * keys_[g].memory_bound;
            } else {
                copied += group.share * (static_cast<double>(group.bytes_per_s) / per_byte * memory.passes);
            }
        }
        const double stretch = memory.stretch(copied + waiting * memory.per_core);
        const auto stretches = memory.stretches(copied, cores, waiting);
        if (stretch == domain.stretch && stretches == domain.stretches)
            continue;
        advance(domain, now);
        domain.stretch = stretch;
        domain.stretches = stretches;
        for (const std::uint32_t g : domain.groups) {
            Group &group = groups_[g];
            advance(group, now);
            double most = 1;
            for (const std::uint32_t each : keys_[g].domains) {
                const auto &[copying, computing] = domains_[each].stretches;
                most = std::max(most, keys_[g].computes ? computing : copying);
            }
            group.stretch = 1 - keys_[g].memory_bound + keys_[g].memory_bound * most;
            group.set_rate();
            if (!group.jobs.empty())
                note(g, group);
        }
    }
    changed_domains_.clear();
}

std::vector<SharedLoad> SharedRates::loads(Picoseconds now) const {
    std::vector<SharedLoad> out;
    for (Domain domain : domains_) {
        advance(domain, now);
        out.push_back({domain.resource, domain.number, domain.busy, domain.saturated});
    }
    return out;
}

} // namespace rankwise::replay
