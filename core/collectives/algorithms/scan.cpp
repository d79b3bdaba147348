// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"

namespace rankwise::collectives {

void scan_linear(const Operation &operation, Writer &writer) {
    if (operation.rank > 0) {
        writer.reduce(operation.rank - 1, operation.bytes, 0);
        writer.next();
    }
    if (operation.rank + 1 < operation.size) {
        writer.send(operation.rank + 1, operation.bytes, 0);
    }
}

// Partners exchange what the group of each has so far; only what comes from lower ranks enters the own
// result.
void scan_recursive_doubling(const Operation &operation, Writer &writer) {
    for (std::uint32_t mask = 1; mask < operation.size; mask <<= 1) {
        const std::uint32_t peer = operation.rank ^ mask;
        if (peer < operation.size) {
            writer.send(peer, operation.bytes, 0);
            writer.reduce(peer, operation.bytes, 0);
            writer.next();
        }
    }
}

} // namespace rankwise::collectives
