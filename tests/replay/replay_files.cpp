// SPDX-License-Identifier: BSD-3-Clause
// Reads every GOAL file named on the command line, text or binary, and replays it in every way; built with
// sanitizers, it ends badly on any wrong access. Prints nothing; its status is 1 if no file could be
// replayed.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "error.hpp"
#include "explain/critical_path.hpp"
#include "explain/waiting.hpp"
#include "placement/estimates/many_placements.hpp"
#include "replay/loggops.hpp"
#include "replay/machine_replay.hpp"
#include "schedule/goal/goal.hpp"

namespace {

using namespace rankwise;

constexpr std::uint32_t most_ranks =
    4096; // damaged files may ask for millions, which is slow and finds nothing

machine::Machine two_nodes_of(machine::CoreSharing sharing, std::uint64_t eager_limit, bool in_call) {
    machine::Segment segment;
    segment.L = 3000;
    segment.o_send = segment.o_receive = segment.g = 100;
    segment.G = segment.O = 2;
    machine::LinkClass link;
    link.segments = {segment};
    link.eager_limit = eager_limit;
    link.in_call = in_call;
    machine::Machine machine;
    machine.link_classes = {link, link};
    machine.link_classes[0].overlap = false;
    machine.link_classes[1].network = true;
    machine.tx = machine.rx = {50, 1};
    machine.core_sharing = sharing;
    return machine;
}

/// The same with a memory that all ranks of a node share, an interrupt core, switches and small buffers.
machine::Machine with_more_resources(machine::Machine machine) {
    machine.bandwidths = {
        {.capacity = 3e8, .per_core = 2e8, .passes = 2, .copies = {1, 1}, .computation = true},
        {.capacity = 5e8, .per_core = 2e8, .slowdown = {1, 1.5}, .copies = {1, 0}}};
    machine.interrupts = {true, 200, 1, 1.5};
    machine.link_classes[1].interrupts = true;
    machine.network = machine::Network::dragonfly(2, 1, 1, 1);
    machine.network.hop = 10;
    machine.network.cost = {{50, 1}, {50, 2}};
    machine.link_classes[1].in_call = true;
    machine.link_classes[1].socket_buffer = 64;
    machine.link_classes[1].send_buffer = 16;
    machine.link_classes[1].unexpected_buffer = 8;
    return machine;
}

/// The same with three interfaces a node, over which large messages are cut, some of them far from their
/// ranks.
machine::Machine with_several_interfaces(machine::Machine machine) {
    machine.interfaces = 3;
    machine.striped_from = 100;
    machine.striped_over = 2;
    for (int detours = 1; detours <= 2; ++detours) {
        machine.link_classes.push_back(machine.link_classes[1]);
        machine.link_classes.back().detour = detours * 70;
    }
    return machine;
}

machine::Placement placement_of(std::uint32_t ranks, bool several) {
    machine::Placement placement;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        placement.node.push_back(r % 2);
        placement.place.push_back(0);
        placement.processor.push_back(r / 2);
    }
    placement.capacity.assign(ranks / 2 + 1, 1);
    placement.place_link = {0};
    placement.network_link = 1;
    placement.domain = {placement.node, placement.processor};
    placement.memory_bound.assign(ranks, 0.5);
    placement.interrupt_core = {0, 1};
    placement.interrupt_processor = {0, machine::Placement::none};
    placement.far.assign(ranks, 1);
    if (!several)
        return placement;
    placement.detour_link = 2;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        placement.interface.push_back(placement.node[r] * 3 + r / 2 % 3);
        placement.is_detour.push_back(r % 4 == 0);
    }
    return placement;
}

template <class Work> bool ends_well(const Work &work) {
    try {
        work();
        return true;
    } catch (const Error &) {
        return false; // refused with a sentence
    }
}

bool replay_all(const replay::Schedule &schedule) {
    if (schedule.ranks() > most_ranks)
        return false;
    const replay::Matching matching = replay::match(schedule);
    bool any_worked = false;
    for (const std::uint64_t eager_limit : {std::uint64_t{0}, std::uint64_t{100}}) {
        any_worked |= ends_well(
            [&] { replay::replay_loggops(schedule, matching, {2500, 1500, 1000, 6, 1, eager_limit}); });
        for (const auto sharing :
             {machine::CoreSharing::none, machine::CoreSharing::yield, machine::CoreSharing::spin})
            for (int more = 0; more <= (sharing == machine::CoreSharing::yield ? 2 : 0); ++more)
                ends_well([&] {
                    auto machine = two_nodes_of(sharing, eager_limit, eager_limit == 0);
                    if (more == 1)
                        machine = with_more_resources(std::move(machine));
                    if (more == 2)
                        machine = with_several_interfaces(std::move(machine));
                    const auto placement = placement_of(schedule.ranks(), more == 2);
                    placement.check(machine, schedule.ranks());
                    replay::Timeline timeline;
                    replay::TimelineObserver observer(timeline);
                    const auto prediction = replay::replay_on_machine(schedule, matching, machine, placement,
                                                                      {.observer = &observer});
                    if (!schedule.wildcards) {
                        replay::critical_path(matching.steps, machine, placement, timeline);
                        replay::waiting(matching.steps, machine, placement, prediction, timeline);
                    }
                    if (more == 1) {
                        replay::computing_alone(schedule, matching, machine, placement);
                        return;
                    }
                    const std::vector<machine::Placement> placements(3, placement);
                    replay::Estimates()(schedule, matching, machine, placements, 2);
                    replay::makespans(schedule, matching, machine, placements, 2);
                });
    }
    return any_worked;
}

} // namespace

int main(int argc, char **argv) {
    bool any_worked = false;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        std::ifstream file(name, std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(file), {}};
        ends_well([&] { any_worked |= replay_all(replay::read_goal(content, name)); });
        ends_well([&] { any_worked |= replay_all(replay::read_goal_binary(content, name)); });
    }
    return any_worked ? 0 : 1;
}
