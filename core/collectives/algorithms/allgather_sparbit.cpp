// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"

namespace rankwise::collectives {

// Loch & Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI Allgather algorithm" (2021):
// all blocks go over binomial trees at once, the long distances first, while each rank has one block. A round
// sends each block as a message of its own. For other sizes than powers of two a round in which the last
// block would come twice leaves it out.
void allgather_sparbit(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size, rank = operation.rank;
    const unsigned even = static_cast<unsigned>(std::countr_zero(size));
    const std::uint32_t leaves_out = (~(size >> even) | 1u) << even;
    std::uint32_t have = 1;
    for (std::uint32_t distance = std::bit_ceil(size) / 2; distance > 0; distance /= 2) {
        const std::uint32_t left_out = (distance & leaves_out) == distance ? 1 : 0;
        const std::uint32_t to = (rank + distance) % size, from = (rank + size - distance) % size;
        for (std::uint32_t k = 0; k < have - left_out; ++k) {
            const auto behind = [&](std::uint64_t distances) {
                return static_cast<std::uint32_t>((rank + size - distances * distance % size) % size);
            };
            const std::uint32_t outgoing = behind(2 * std::uint64_t{k});
            const std::uint32_t incoming = behind(2 * std::uint64_t{k} + 1);
            writer.receive(from, blocks.bytes(incoming, 1), blocks.start(incoming));
            writer.send(to, blocks.bytes(outgoing, 1), blocks.start(outgoing));
        }
        writer.next();
        have = 2 * have - left_out;
    }
}

} // namespace rankwise::collectives
