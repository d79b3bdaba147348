// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "collectives/algorithms.hpp"

namespace rankwise::collectives {
namespace {

bool is_v_variant(const Operation &operation) {
    return operation.collective == Collective::alltoallv || operation.collective == Collective::alltoallw;
}

void exchange(const Operation &operation, std::uint32_t to, std::uint32_t from, Writer &writer) {
    const auto size_of = [&](std::span<const std::uint64_t> sizes, std::uint32_t peer) {
        return sizes.size() == operation.size ? sizes[peer] : operation.bytes;
    };
    const std::uint64_t sent = size_of(operation.sizes, to);
    const auto incoming = operation.receive_sizes.empty() ? operation.sizes : operation.receive_sizes;
    const std::uint64_t received = size_of(incoming, from);
    // The libraries send nothing for an empty block of a v-variant.
    const bool skip_empty = is_v_variant(operation);
    if (received > 0 || !skip_empty) {
        writer.receive(from, received, no_offset);
    }
    if (sent > 0 || !skip_empty) {
        writer.send(to, sent, no_offset);
    }
}

} // namespace

void alltoall_pairwise(const Operation &operation, Writer &writer) {
    const std::uint32_t size = operation.size;
    for (std::uint32_t step = 1; step < size; ++step) {
        if (std::has_single_bit(size)) {
            exchange(operation, operation.rank ^ step, operation.rank ^ step, writer);
        } else {
            exchange(operation, (operation.rank + step) % size, (operation.rank + size - step) % size,
                     writer);
        }
        writer.next();
    }
}

// As the linear one, but no more than so many at once (MPICH_ALLTOALLV_THROTTLE).
void alltoall_throttled(const Operation &operation, Writer &writer) {
    constexpr std::uint32_t at_once = 8;
    for (std::uint32_t step = 1; step < operation.size; ++step) {
        exchange(operation, (operation.rank + step) % operation.size,
                 (operation.rank + operation.size - step) % operation.size, writer);
        if (step % at_once == 0) {
            writer.next();
        }
    }
}

void alltoall_linear(const Operation &operation, Writer &writer) {
    const std::uint32_t size = operation.size;
    for (std::uint32_t step = 1; step < size; ++step) {
        exchange(operation, (operation.rank + step) % size, (operation.rank + size - step) % size, writer);
    }
}

// Bruck: in the round of weight w go, joined to one message, the blocks whose distance to their destination
// has that bit.
void alltoall_bruck(const Operation &operation, Writer &writer) {
    const std::uint32_t size = operation.size;
    for (std::uint32_t weight = 1; weight < size; weight <<= 1) {
        std::uint64_t blocks = size / (2 * weight) * weight;
        if (size % (2 * weight) > weight) {
            blocks += size % (2 * weight) - weight;
        }
        writer.send((operation.rank + weight) % size, blocks * operation.bytes, no_offset);
        writer.receive((operation.rank + size - weight) % size, blocks * operation.bytes, no_offset);
        writer.next();
    }
}

} // namespace rankwise::collectives
