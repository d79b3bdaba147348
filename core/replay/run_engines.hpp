// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "replay/engine.hpp"
#include "replay/engine_jobs.hpp"
#include "replay/engine_looks.hpp"
#include "replay/engine_messages.hpp"
#include "replay/engine_parts.hpp"
#include "replay/engine_windows.hpp"
#include "replay/replay_case.hpp"

namespace rankwise::replay {

/// Where threads wait for each other: for less than a switch between threads takes, if each has a core.
class Meeting {
  public:
    explicit Meeting(unsigned threads) : threads_(threads) {}

    void wait() {
        const unsigned round = round_.load(std::memory_order_acquire);
        if (come_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            come_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (unsigned tries = 0; round_.load(std::memory_order_acquire) == round; ++tries)
            if (tries >= tries_before_yield)
                std::this_thread::yield();
    }

  private:
    static constexpr unsigned tries_before_yield = 20'000;

    const unsigned threads_;
    alignas(64) std::atomic<unsigned> come_{0};
    alignas(64) std::atomic<unsigned> round_{0};
};

/// @brief Window after window, until nothing is left to do.
template <Order order> void serve_all(std::span<const std::unique_ptr<Engine<order>>> engines) {
    constexpr Picoseconds failed = -1;
    struct alignas(64) Said {
        /// In turn: who comes to the next meeting changes nothing that is still read.
        Picoseconds earliest[2];
    };
    std::vector<Said> said(engines.size());
    std::vector<std::exception_ptr> errors(engines.size());
    Meeting meeting(static_cast<unsigned>(engines.size()));
    const auto serve = [&](std::size_t k) {
        for (unsigned turn = 0;; turn ^= 1) {
            said[k].earliest[turn] = errors[k] ? failed : engines[k]->earliest();
            if (engines.size() > 1)
                meeting.wait();
            Picoseconds begin = machine::never;
            for (const Said &each : said)
                begin = std::min(begin, each.earliest[turn]);
            if (begin == machine::never || begin == failed)
                return;
            try {
                engines[k]->serve_window(begin, engines);
            } catch (...) {
                errors[k] = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t k = 1; k < engines.size(); ++k)
            threads.emplace_back(serve, k);
        serve(0);
    }
    for (const std::exception_ptr &error : errors)
        if (error)
            std::rethrow_exception(error);
}

/// @brief Nothing can go on: in a recording, the sends in circles end as if they were buffered.
/// @return whether there were any
template <Order order>
bool end_waiting_sends(const Case &of_case, std::span<const std::unique_ptr<Engine<order>>> engines) {
    if (!of_case.schedule.recorded)
        return false;
    Standstills &standstills = engines.front()->standstills();
    Picoseconds now = 0;
    for (const auto &engine : engines) {
        now = std::max(now, engine->now());
        if (engine != engines.front())
            standstills.take_begun(engine->standstills());
    }
    const std::vector<std::uint32_t> sends = standstills.waiting_sends(engines.front()->other_end());
    for (const auto &engine : engines) {
        std::vector<std::uint32_t> own;
        for (const std::uint32_t send : sends)
            if (engine->serves(of_case.steps[send].rank))
                own.push_back(send);
        engine->end_sends(std::move(own), now);
    }
    return !sends.empty();
}

template <Order order> Prediction run_engines(const Case &of_case) {
    OperationStates states(of_case, order == Order::by_time);
    std::vector<std::unique_ptr<Engine<order>>> engines;
    const unsigned threads = std::clamp(of_case.threads, 1u, of_case.ahead.queues);
    engines.reserve(threads);
    for (unsigned k = 0; k < threads; ++k)
        engines.push_back(std::make_unique<Engine<order>>(of_case, states, k, threads));
    const std::span<const std::unique_ptr<Engine<order>>> all = engines;
    const auto all_ended = [&] {
        std::size_t ended = 0;
        for (const auto &engine : engines)
            ended += engine->ended_count();
        return ended == states.progress.size();
    };
    for (const auto &engine : engines)
        engine->start();
    do
        serve_all<order>(all);
    while (!all_ended() && end_waiting_sends<order>(of_case, all));
    if (!all_ended())
        throw engines.front()->standstills().deadlock(engines.front()->other_end());
    Prediction result;
    result.ranks.resize(of_case.schedule.ranks());
    result.queues = of_case.ahead.queues;
    for (const auto &engine : engines)
        engine->add_to(result);
    return result;
}

} // namespace rankwise::replay
