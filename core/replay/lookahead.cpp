// SPDX-License-Identifier: BSD-3-Clause
#include "replay/lookahead.hpp"

#include <algorithm>

#include "replay/message_costs.hpp"
#include "replay/resources/shared_cores.hpp"

namespace rankwise::replay {
namespace {

using machine::LinkClass;
using machine::Machine;
using machine::Segment;

/// The least that messages take on one link class.
struct Least {
    Picoseconds first_byte = machine::never; ///< from leaving to arriving
    Picoseconds passing = machine::never;    ///< from the first byte to the last, at each interface too
    Picoseconds control = machine::never;    ///< request or answer of a rendezvous
    Picoseconds sending = machine::never; ///< of a rendezvous: from its first byte to when its send may end

    void take(const Least &other) {
        first_byte = std::min(first_byte, other.first_byte);
        passing = std::min(passing, other.passing);
        control = std::min(control, other.control);
        sending = std::min(sending, other.sending);
    }
};

Least least_on(const LinkClass &l, const Matching &matching, const Machine &machine) {
    const MessageCosts costs(machine);
    const std::uint64_t beyond_eager = std::max(l.eager_limit, l.eager_limit + 1);
    const std::uint64_t rendezvous = std::min(matching.least_synchronous, beyond_eager);
    Least least;
    std::uint64_t from = 0;
    for (const Segment &s : l.segments) {
        if (from > matching.largest)
            break;
        const std::uint64_t smallest = std::max(matching.smallest, from);
        const Picoseconds span = Segment::per_byte(smallest, s.G);
        const Picoseconds interface =
            l.network ? std::max(machine.tx.time(smallest), machine.rx.time(smallest)) : 0;
        if (s.up_to_bytes >= smallest)
            least.take({.first_byte = s.L, .passing = std::max(span, interface)});
        if (s.up_to_bytes >= rendezvous && matching.largest >= rendezvous) {
            const Picoseconds control = costs.control(l, s);
            least.take({.first_byte = s.L - 2 * control,
                        .control = control,
                        .sending = Segment::per_byte(std::max(rendezvous, from), s.G)});
        }
        from = s.up_to_bytes + 1;
    }
    return least;
}

} // namespace

Lookahead lookahead(const Schedule &schedule, const Matching &matching, const Machine &machine,
                    const machine::Placement &placement) {
    if (!machine.only_interfaces_and_cores() || schedule.cpus > 1 || schedule.nics > 1 ||
        matching.smallest > matching.largest || !SharedCores(schedule, machine, placement).empty())
        return {};
    Lookahead ahead;
    const Least network = least_on(machine.link_classes[placement.network_link], matching, machine);
    ahead.passing = network.passing;
    ahead.between = std::min(network.first_byte + network.passing, network.control);
    ahead.inside = std::min(ahead.between, network.sending);
    std::vector<bool> used(machine.link_classes.size());
    for (const std::uint8_t link : placement.place_link)
        used[link] = true;
    used[placement.self_link] = used[placement.self_link] || matching.to_itself;
    for (std::size_t k = 0; k < used.size(); ++k) {
        const LinkClass &l = machine.link_classes[k];
        if (!used[k])
            continue;
        if (l.network)
            return {};
        const Least inside = least_on(l, matching, machine);
        ahead.inside =
            std::min({ahead.inside, inside.first_byte + inside.passing, inside.control, inside.sending});
    }
    for (const LinkClass &l : machine.link_classes)
        for (const Segment &s : l.segments)
            ahead.core_and_link |= l.core_per_byte(s) > 0 && !(machine.progress && l.in_call);
    if (ahead.inside <= 0 || ahead.between <= 0 || network.first_byte <= 0)
        return {};
    return ahead;
}

} // namespace rankwise::replay
