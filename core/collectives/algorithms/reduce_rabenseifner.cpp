// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/halving.hpp"

namespace rankwise::collectives {

// Rabenseifner: reduce-scatter by recursive halving, then the blocks are gathered at the root over the same
// partners. Of the first 2 x left_over ranks the even ones take part; a root that does not takes the place of
// rank 0 for the gathering.
void reduce_rabenseifner(const Operation &operation, Writer &writer) {
    const PowerOfTwo core(operation.size);
    const bool paired = operation.rank < 2 * core.left_over;
    const bool folded = paired && operation.rank % 2 == 1;
    const bool root_folded = operation.root < 2 * core.left_over && operation.root % 2 == 1;
    if (folded) {
        writer.send(operation.rank - 1, operation.bytes, 0);
        writer.next();
        if (operation.rank != operation.root) {
            return;
        }
    } else if (paired) {
        writer.reduce(operation.rank + 1, operation.bytes, 0);
        writer.next();
    }
    const auto blocks = Blocks::split(core.size, operation.bytes, operation.element_bytes);
    const auto to_rank = [&](std::uint32_t place) {
        return place < core.left_over ? 2 * place : place + core.left_over;
    };
    const std::uint32_t place = folded ? 0 : (paired ? operation.rank / 2 : operation.rank - core.left_over);
    const std::uint32_t root_place =
        root_folded
            ? 0
            : (operation.root < 2 * core.left_over ? operation.root / 2 : operation.root - core.left_over);

    std::vector<Half> halves;
    if (folded) {
        // The root's steps begin where rank 0's end: what it will gather is the same, so its halves are
        // worked out unsaid.
        std::vector<CollectiveStep> unsaid;
        Writer aside(unsaid);
        halves = halve(0, core.size, blocks, to_rank, aside);
        writer.receive(to_rank(0), blocks.bytes(0, 1), blocks.start(0));
        writer.next();
    } else {
        halves = halve(place, core.size, blocks, to_rank, writer);
        if (root_folded && place == 0) {
            writer.send(operation.root, blocks.bytes(0, 1), blocks.start(0));
            return;
        }
    }
    std::uint32_t bit = static_cast<std::uint32_t>(halves.size());
    for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
        --bit;
        const std::uint32_t peer =
            half->partner == 0 && root_folded ? operation.root : to_rank(half->partner);
        if (half->partner >> bit == root_place >> bit) {
            writer.send(peer, blocks.bytes(half->kept, half->number), blocks.start(half->kept));
            return;
        }
        writer.receive(peer, blocks.bytes(half->given, half->number), blocks.start(half->given));
        writer.next();
    }
}

} // namespace rankwise::collectives
