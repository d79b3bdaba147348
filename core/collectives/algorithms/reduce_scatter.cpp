// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/halving.hpp"
#include "collectives/algorithms/partnerless.hpp"

namespace rankwise::collectives {

// Farthest partner first, so that each place ends with the blocks of its own ranks. Nothing is sent where
// there is nothing.
void reduce_scatter_recursive_halving(const Operation &operation, Writer &writer) {
    const PowerOfTwo core(operation.size);
    const auto blocks = Blocks::of(operation);
    const auto place = core.fold(operation.rank);
    const std::uint32_t rank = operation.rank;
    if (!place) {
        writer.send(rank + 1, blocks.total(), 0);
        writer.next();
        if (blocks.bytes(rank, 1) > 0) {
            writer.receive(rank + 1, blocks.bytes(rank, 1), blocks.start(rank));
        }
        return;
    }
    const bool speaks_for_two = rank < 2 * core.left_over;
    if (speaks_for_two) {
        writer.reduce(rank - 1, blocks.total(), 0);
        writer.next();
    }
    // Places [first, end) stand for consecutive ranks.
    const auto first_rank = [&](std::uint32_t at) {
        return at < core.left_over ? 2 * at : at + core.left_over;
    };
    const auto range = [&](std::uint32_t first, std::uint32_t number) {
        return blocks.start(first_rank(first + number)) - blocks.start(first_rank(first));
    };
    std::uint32_t first = 0;
    for (std::uint32_t mask = core.size / 2; mask > 0; mask /= 2) {
        const bool upper = (*place & mask) != 0;
        const std::uint32_t kept = upper ? first + mask : first;
        const std::uint32_t given = upper ? first : first + mask;
        const std::uint32_t peer = core.unfold(*place ^ mask);
        if (range(given, mask) > 0) {
            writer.send(peer, range(given, mask), blocks.start(first_rank(given)));
        }
        if (range(kept, mask) > 0) {
            writer.reduce(peer, range(kept, mask), blocks.start(first_rank(kept)));
        }
        writer.next();
        first = kept;
    }
    if (speaks_for_two && blocks.bytes(rank - 1, 1) > 0) {
        writer.send(rank - 1, blocks.bytes(rank - 1, 1), blocks.start(rank - 1));
    }
}

void reduce_scatter_pairwise(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size;
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t to = (operation.rank + step) % size;
        const std::uint32_t from = (operation.rank + size - step) % size;
        writer.send(to, blocks.bytes(to, 1), blocks.start(to));
        writer.reduce(from, blocks.bytes(operation.rank, 1), blocks.start(operation.rank));
        writer.next();
    }
}

void reduce_scatter_ring(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size;
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t outgoing = (operation.rank + size - step) % size;
        const std::uint32_t incoming = (outgoing + size - 1) % size;
        writer.send((operation.rank + 1) % size, blocks.bytes(outgoing, 1), blocks.start(outgoing));
        writer.reduce((operation.rank + size - 1) % size, blocks.bytes(incoming, 1), blocks.start(incoming));
        writer.next();
    }
}

// Each exchange carries all blocks but those of the sender's own subtree, whose ranks need nothing of each
// other any more.
void reduce_scatter_recursive_doubling(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    const std::uint32_t size = operation.size;
    for (std::uint32_t mask = 1; mask < size; mask <<= 1) {
        const std::uint32_t peer = operation.rank ^ mask;
        const auto beside = [&](std::uint32_t first, auto &&use) {
            const std::uint32_t number = std::min(mask, size - first);
            use(blocks.total() - blocks.bytes(first, number), blocks.start((first + number) % size));
        };
        const std::uint32_t own_first = operation.rank & ~(mask - 1);
        const std::uint32_t other_first = std::min(peer & ~(mask - 1), size - 1);
        if (peer < size) {
            beside(own_first, [&](auto bytes, auto offset) { writer.send(peer, bytes, offset); });
            beside(other_first, [&](auto bytes, auto offset) { writer.reduce(peer, bytes, offset); });
            writer.next();
        }
        hand_on_to_partnerless(
            operation.rank, size, mask, writer,
            [&](std::uint32_t to) {
                beside(other_first, [&](auto bytes, auto offset) { writer.send(to, bytes, offset); });
            },
            [&](std::uint32_t from) {
                beside(other_first, [&](auto bytes, auto offset) { writer.reduce(from, bytes, offset); });
            });
    }
}

void reduce_scatter_reduce_scatterv(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    Operation whole = operation;
    whole.root = 0;
    whole.bytes = blocks.total();
    reduce_over(binomial_tree, whole, writer);
    writer.next();
    if (operation.rank != 0) {
        writer.receive(0, blocks.bytes(operation.rank, 1), blocks.start(operation.rank));
        return;
    }
    for (std::uint32_t peer = 1; peer < operation.size; ++peer) {
        writer.send(peer, blocks.bytes(peer, 1), blocks.start(peer));
    }
}

} // namespace rankwise::collectives
