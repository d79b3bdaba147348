// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "replay/loggops.hpp"
#include "replay/machine_replay.hpp"

namespace rankwise::replay {

LargeArray<Step> steps_on_machine(const Schedule &schedule, const Matching &matching,
                                  const machine::Machine &machine, const machine::Placement &placement) {
    const machine::LinkClass &network = machine.link_classes[placement.network_link];
    const machine::Segment &s = network.segments.front();
    const LogGOPS plain{s.L, std::max(s.o_send, s.o_receive), s.g, s.G, s.O, network.eager_limit};
    return with_partners(matching.steps, replay_loggops(schedule, matching, plain).partner);
}

} // namespace rankwise::replay
