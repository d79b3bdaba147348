// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/calls/call_chain.hpp"

#include <algorithm>
#include <cmath>

#include "error.hpp"

namespace rankwise::replay {

namespace {
/// Several operations that begin together wait for one that waits for so many, instead of each for all.
constexpr std::size_t most_before = 3;
constexpr double most_picoseconds = 1e18;
} // namespace

std::uint32_t CallChain::add(Operation operation) {
    const std::uint32_t number = builder_.add(rank_, operation);
    for (const Before &before : before_)
        builder_.order(rank_, number, before.operation, before.at_start);
    return number;
}

void CallChain::then(Operation operation) {
    const std::uint32_t number = add(operation);
    before_.assign(1, {number, false});
}

void CallChain::write_computation() {
    const double picoseconds = std::round(computed_s_ * 1e12);
    const double at_once = computed_s_ > 0 ? std::clamp(1 - saved_s_ / computed_s_, 0.0, 1.0) : 1;
    computed_s_ = saved_s_ = 0;
    if (!(picoseconds >= 0) || picoseconds > most_picoseconds)
        throw Error("a computation of `" + std::to_string(picoseconds * 1e-12) + "` s");
    if (!(picoseconds > 0))
        return;
    const auto time = static_cast<Picoseconds>(picoseconds);
    if (parts_ == 1)
        return then(Operation::calc(time));
    const auto rest = static_cast<std::uint32_t>(std::lround(at_once * Operation::whole));
    then(Operation::calc(time, parts_, builder_.size(rank_) - watched_, rest));
}

void CallChain::send(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag, bool synchronous) {
    write_computation();
    then(Operation::send(peer, bytes, tag, synchronous));
}

void CallChain::receive(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag) {
    write_computation();
    then(Operation::receive(peer, bytes, tag));
}

std::uint32_t CallChain::isend(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag, bool synchronous) {
    write_computation();
    const std::uint32_t number = add(Operation::send(peer, bytes, tag, synchronous));
    before_.assign(1, {number, true});
    return number;
}

std::uint32_t CallChain::ireceive(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag) {
    write_computation();
    if (before_.size() > most_before)
        then(Operation::calc(0));
    return add(Operation::receive(peer, bytes, tag));
}

std::uint32_t CallChain::send_after(std::uint32_t operation, std::uint32_t peer, std::uint64_t bytes,
                                    std::uint32_t tag) {
    const std::uint32_t number = builder_.add(rank_, Operation::send(peer, bytes, tag));
    builder_.order(rank_, number, operation);
    return number;
}

void CallChain::wait(std::uint32_t operation) {
    write_computation();
    if (before_.size() == 1 && before_.front().at_start && before_.front().operation == operation)
        before_.clear();
    before_.push_back({operation, false});
}

void CallChain::collective(std::span<const collectives::CollectiveStep> steps,
                           std::span<const std::uint32_t> members, std::uint32_t tag) {
    write_computation();
    std::vector<Before> round;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const collectives::CollectiveStep &step = steps[i];
        if (i > 0 && step.round != steps[i - 1].round) {
            before_.swap(round);
            round.clear();
        }
        if (before_.size() > most_before)
            then(Operation::calc(0));
        const std::uint32_t peer = members[step.peer];
        round.push_back(
            {add(step.kind == collectives::StepKind::send ? Operation::send(peer, step.bytes, tag)
                                                          : Operation::receive(peer, step.bytes, tag)),
             false});
    }
    if (!round.empty())
        before_.swap(round);
}

} // namespace rankwise::replay
