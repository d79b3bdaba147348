// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms.hpp"

namespace rankwise::collectives {
namespace {

// A run of elements as bytes.
struct Window {
    std::uint64_t first, number, element;
    std::uint64_t bytes() const { return number * element; }
    std::uint64_t offset() const { return first * element; }
    Window lower() const { return {first, number / 2, element}; }
    Window upper() const { return {first + number / 2, number - number / 2, element}; }
};

} // namespace

// Rabenseifner's algorithm with windows cut in halves, the upper one longer by an element where they are odd. Ranks beyond the
// power of two are folded in by halves as well: both of a pair reduce half of the buffer, the even one goes on.
void allreduce_rabenseifner_halves(const Operation &operation, Writer &writer) {
    const std::uint64_t element = std::max<std::uint32_t>(operation.element_bytes, 1);
    const std::uint32_t core = std::bit_floor(operation.size);
    const std::uint32_t left_over = operation.size - core;
    const Window whole{0, operation.bytes / element, element};
    const bool paired = operation.rank < 2 * left_over;
    const std::uint32_t rank = operation.rank;
    if (paired && rank % 2 == 1) {
        writer.send(rank - 1, whole.lower().bytes(), 0);
        writer.reduce(rank - 1, whole.upper().bytes(), whole.upper().offset());
        writer.next();
        writer.send(rank - 1, whole.upper().bytes(), whole.upper().offset());
        writer.next();
        writer.receive(rank - 1, whole.bytes(), 0);
        return;
    }
    if (paired) {
        writer.send(rank + 1, whole.upper().bytes(), whole.upper().offset());
        writer.reduce(rank + 1, whole.lower().bytes(), 0);
        writer.next();
        writer.receive(rank + 1, whole.upper().bytes(), whole.upper().offset());
        writer.next();
    }
    const std::uint32_t place = paired ? rank / 2 : rank - left_over;
    struct Exchange {
        std::uint32_t peer;
        Window kept, given;
    };
    std::vector<Exchange> exchanges;
    Window mine = whole;
    for (std::uint32_t mask = 1; mask < core; mask <<= 1) {
        const std::uint32_t other = place ^ mask;
        const bool keeps_lower = place < other;
        const Exchange exchange{other < left_over ? 2 * other : other + left_over,
                                keeps_lower ? mine.lower() : mine.upper(), keeps_lower ? mine.upper() : mine.lower()};
        writer.send(exchange.peer, exchange.given.bytes(), exchange.given.offset());
        writer.reduce(exchange.peer, exchange.kept.bytes(), exchange.kept.offset());
        writer.next();
        mine = exchange.kept;
        exchanges.push_back(exchange);
    }
    for (auto back = exchanges.rbegin(); back != exchanges.rend(); ++back) {
        writer.send(back->peer, back->kept.bytes(), back->kept.offset());
        writer.receive(back->peer, back->given.bytes(), back->given.offset());
        writer.next();
    }
    if (paired) {
        writer.send(rank + 1, whole.bytes(), 0);
    }
}

} // namespace rankwise::collectives
