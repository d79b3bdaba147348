// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/windows.hpp"

namespace rankwise::collectives {

bool fold_by_halves(const Operation &operation, const EvenPlaces &places, Writer &writer) {
    const std::uint32_t rank = operation.rank;
    const Window whole = Window::of(operation);
    if (!places.paired(rank)) {
        return true;
    }
    if (rank % 2 == 1) {
        writer.send(rank - 1, whole.lower().bytes(), 0);
        writer.reduce(rank - 1, whole.upper().bytes(), whole.upper().offset());
        writer.next();
        writer.send(rank - 1, whole.upper().bytes(), whole.upper().offset());
        writer.next();
        return false;
    }
    writer.send(rank + 1, whole.upper().bytes(), whole.upper().offset());
    writer.reduce(rank + 1, whole.lower().bytes(), 0);
    writer.next();
    writer.receive(rank + 1, whole.upper().bytes(), whole.upper().offset());
    writer.next();
    return true;
}

std::vector<WindowExchange> halving_exchanges(std::uint32_t place, std::uint32_t places, Window whole) {
    std::vector<WindowExchange> exchanges;
    Window mine = whole;
    for (std::uint32_t mask = 1; mask < places; mask <<= 1) {
        const std::uint32_t partner = place ^ mask;
        const bool keeps_lower = place < partner;
        exchanges.push_back(
            {partner, keeps_lower ? mine.lower() : mine.upper(), keeps_lower ? mine.upper() : mine.lower()});
        mine = exchanges.back().kept;
    }
    return exchanges;
}

void write_halving(const std::vector<WindowExchange> &exchanges, const EvenPlaces &places, Writer &writer) {
    for (const auto &exchange : exchanges) {
        const std::uint32_t peer = places.rank(exchange.partner);
        writer.send(peer, exchange.given.bytes(), exchange.given.offset());
        writer.reduce(peer, exchange.kept.bytes(), exchange.kept.offset());
        writer.next();
    }
}

} // namespace rankwise::collectives
