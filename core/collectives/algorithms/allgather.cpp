// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/partnerless.hpp"
#include "collectives/algorithms/scatter_gather.hpp"

namespace rankwise::collectives {

void ring_blocks(const Operation &operation, const Blocks &blocks, std::uint32_t shift, Writer &writer) {
    const std::uint32_t size = operation.size;
    const std::uint32_t right = (operation.rank + 1) % size;
    const std::uint32_t left = (operation.rank + size - 1) % size;
    std::uint32_t mine = (operation.rank + size - shift) % size;
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t incoming = (mine + size - 1) % size;
        writer.send(right, blocks.bytes(mine, 1), blocks.start(mine));
        writer.receive(left, blocks.bytes(incoming, 1), blocks.start(incoming));
        writer.next();
        mine = incoming;
    }
}

void doubling_blocks(const Operation &operation, const Blocks &blocks, std::uint32_t shift, Writer &writer) {
    const std::uint32_t size = operation.size;
    const std::uint32_t me = (operation.rank + size - shift) % size;
    const auto rank_at = [&](std::uint32_t place) { return (place + shift) % size; };
    for (std::uint32_t mask = 1; mask < size; mask <<= 1) {
        const std::uint32_t other = me ^ mask;
        const std::uint32_t own_first = me & ~(mask - 1);
        const std::uint32_t other_first = std::min(other & ~(mask - 1), size);
        const std::uint64_t own = blocks.bytes(own_first, std::min(mask, size - own_first));
        const std::uint64_t others = blocks.bytes(other_first, std::min(mask, size - other_first));
        if (other < size) {
            writer.send(rank_at(other), own, blocks.start(own_first));
            writer.receive(rank_at(other), others, blocks.start(other_first));
            writer.next();
        }
        hand_on_to_partnerless(
            me, size, mask, writer,
            [&](std::uint32_t place) { writer.send(rank_at(place), others, blocks.start(other_first)); },
            [&](std::uint32_t place) { writer.receive(rank_at(place), others, blocks.start(other_first)); });
    }
}

void allgather_ring(const Operation &operation, Writer &writer) {
    ring_blocks(operation, Blocks::of(operation), 0, writer);
}

void allgather_recursive_doubling(const Operation &operation, Writer &writer) {
    doubling_blocks(operation, Blocks::of(operation), 0, writer);
}

void allgather_linear(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    for (std::uint32_t step = 1; step < operation.size; ++step) {
        const std::uint32_t peer = (operation.rank + step) % operation.size;
        writer.receive(peer, blocks.bytes(peer, 1), blocks.start(peer));
        writer.send(peer, blocks.bytes(operation.rank, 1), blocks.start(operation.rank));
    }
}

void allgather_bruck(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size;
    for (std::uint32_t have = 1; have < size; have *= 2) {
        const std::uint32_t number = std::min(have, size - have);
        const std::uint32_t incoming = (operation.rank + have) % size;
        writer.send((operation.rank + size - have) % size, blocks.bytes(operation.rank, number),
                    blocks.start(operation.rank));
        writer.receive(incoming, blocks.bytes(incoming, number), blocks.start(incoming));
        writer.next();
    }
}

// Chen et al., "Performance evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet"
// (2005): pairs exchange first one block, then alternately with either neighbour the two blocks that came
// last.
void allgather_neighbor_exchange(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size;
    const bool even = operation.rank % 2 == 0;
    const std::uint32_t up = (operation.rank + 1) % size;
    const std::uint32_t down = (operation.rank + size - 1) % size;
    const std::uint32_t neighbour[2] = {even ? up : down, even ? down : up};
    const std::uint32_t stride[2] = {even ? 2 : size - 2, even ? size - 2 : 2};
    const std::uint32_t pair = even ? operation.rank : down;
    std::uint32_t incoming[2] = {pair, pair};

    writer.send(neighbour[0], blocks.bytes(operation.rank, 1), blocks.start(operation.rank));
    writer.receive(neighbour[0], blocks.bytes(neighbour[0], 1), blocks.start(neighbour[0]));
    writer.next();
    std::uint32_t outgoing = pair;
    for (std::uint32_t step = 1; step < size / 2; ++step) {
        const std::uint32_t side = step % 2;
        incoming[side] = (incoming[side] + stride[side]) % size;
        writer.send(neighbour[side], blocks.bytes(outgoing, 2), blocks.start(outgoing));
        writer.receive(neighbour[side], blocks.bytes(incoming[side], 2), blocks.start(incoming[side]));
        writer.next();
        outgoing = incoming[side];
    }
}

} // namespace rankwise::collectives
