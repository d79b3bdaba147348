// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @brief Recursive doubling among ranks that are no power of two: after the exchange with `place ^ mask`,
/// those of a subtree who had no partner get what the others received, handed on by recursive halving within
/// the subtree.
///
/// @param place of this rank, @param places of all
/// @param send called with the place to hand on to, @param receive with the place that hands on
template <class Send, class Receive>
void hand_on_to_partnerless(std::uint32_t place, std::uint32_t places, std::uint32_t mask, Writer &writer,
                            Send send, Receive receive) {
    const std::uint32_t other_tree = (place ^ mask) & ~(mask - 1);
    if (other_tree >= places || other_tree + mask <= places) {
        return; // nobody had a partner, or everybody
    }
    const std::uint32_t had_partner = places - other_tree;
    for (std::uint32_t half = mask / 2; half > 0; half /= 2) {
        const std::uint32_t other = place ^ half;
        const std::uint32_t first_without = (place & ~(2 * half - 1)) + had_partner;
        writer.next();
        if (place < first_without && other >= first_without) {
            send(other);
        } else if (other < first_without && place >= first_without) {
            receive(other);
        }
    }
    writer.next();
}

} // namespace rankwise::collectives
