// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"
#include "collectives/windows.hpp"

namespace rankwise::collectives {

// Rabenseifner's algorithm, with windows cut in halves rather than equal blocks, and the ranks beyond the
// power of two folded in by halves as well.
void allreduce_rabenseifner_halves(const Operation &operation, Writer &writer) {
    const EvenPlaces places(operation.size);
    const Window whole = Window::of(operation);
    if (!fold_by_halves(operation, places, writer)) {
        writer.receive(operation.rank - 1, whole.bytes(), 0);
        return;
    }
    const auto exchanges = halving_exchanges(places.place(operation.rank), places.size, whole);
    write_halving(exchanges, places, writer);
    for (auto back = exchanges.rbegin(); back != exchanges.rend(); ++back) {
        const std::uint32_t peer = places.rank(back->partner);
        writer.send(peer, back->kept.bytes(), back->kept.offset());
        writer.receive(peer, back->given.bytes(), back->given.offset());
        writer.next();
    }
    if (places.paired(operation.rank)) {
        writer.send(operation.rank + 1, whole.bytes(), 0);
    }
}

// The windows are gathered at the root over the same partners. A root that was folded in takes the place of
// rank 0.
void reduce_rabenseifner_halves(const Operation &operation, Writer &writer) {
    const EvenPlaces places(operation.size);
    const Window whole = Window::of(operation);
    const bool root_folded = places.paired(operation.root) && operation.root % 2 == 1;
    const std::uint32_t root_place = root_folded ? 0 : places.place(operation.root);
    const bool takes_part = fold_by_halves(operation, places, writer);
    if (!takes_part && operation.rank != operation.root) {
        return;
    }
    const std::uint32_t place = takes_part ? places.place(operation.rank) : 0;
    const auto exchanges = halving_exchanges(place, places.size, whole);
    if (takes_part) {
        write_halving(exchanges, places, writer);
    }
    if (root_folded && place == 0) {
        const Window own = exchanges.empty() ? whole : exchanges.back().kept;
        if (takes_part) {
            writer.send(operation.root, own.bytes(), own.offset());
            return;
        }
        writer.receive(places.rank(0), own.bytes(), own.offset());
        writer.next();
    }
    auto bit = static_cast<std::uint32_t>(exchanges.size());
    for (auto back = exchanges.rbegin(); back != exchanges.rend(); ++back) {
        --bit;
        const std::uint32_t peer =
            back->partner == 0 && root_folded ? operation.root : places.rank(back->partner);
        if (back->partner >> bit == root_place >> bit) {
            writer.send(peer, back->kept.bytes(), back->kept.offset());
            return;
        }
        writer.receive(peer, back->given.bytes(), back->given.offset());
        writer.next();
    }
}

} // namespace rankwise::collectives
