// SPDX-License-Identifier: BSD-3-Clause
#include "replay/many_placements.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <sched.h>

#include "replay/machine_replay.hpp"
#include "replay/static_pass.hpp"

namespace rankwise::replay {
namespace {

unsigned cores() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(std::max(1, CPU_COUNT(&set)))
                                                       : 1u;
}

/// `work(k)` for k below `count`, each by whichever thread is free. The first error, by k, is thrown.
template <class Work> void in_threads(std::size_t count, unsigned threads, const Work &work) {
    std::vector<std::exception_ptr> errors(count);
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
        for (std::size_t k = next++; k < count; k = next++)
            try {
                work(k);
            } catch (...) {
                errors[k] = std::current_exception();
            }
    };
    const std::size_t helpers = std::min<std::size_t>(threads == 0 ? cores() : threads, count);
    {
        std::vector<std::jthread> pool;
        for (std::size_t t = 1; t < helpers; ++t)
            pool.emplace_back(run);
        run();
    }
    for (const std::exception_ptr &error : errors)
        if (error)
            std::rethrow_exception(error);
}

} // namespace

std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine, std::span<const machine::Layout> layouts,
                                   unsigned threads) {
    std::vector<Picoseconds> out(layouts.size());
    in_threads(layouts.size(), threads, [&](std::size_t k) {
        out[k] = replay_on_machine(schedule, matching, machine, layouts[k]).makespan();
    });
    return out;
}

std::vector<Picoseconds> screen(const Schedule &schedule, const Matching &matching,
                                const machine::Machine &machine, std::span<const machine::Layout> layouts,
                                unsigned threads) {
    if (layouts.empty())
        return {};
    ServiceOrder order;
    replay_on_machine(schedule, matching, machine, layouts.front(), order);
    LargeArray<Step> known;
    if (schedule.wildcards)
        known = steps_on_machine(schedule, matching, machine, layouts.front());
    const LargeArray<Step> &steps = schedule.wildcards ? known : matching.steps;
    constexpr std::size_t at_once = 8;
    std::vector<Picoseconds> out(layouts.size());
    in_threads((layouts.size() + at_once - 1) / at_once, threads, [&](std::size_t k) {
        const auto some = layouts.subspan(k * at_once, std::min(at_once, layouts.size() - k * at_once));
        const std::vector<Picoseconds> part = static_pass(schedule, steps, order, machine, some);
        std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(k * at_once));
    });
    return out;
}

} // namespace rankwise::replay
