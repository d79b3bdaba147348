// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/algorithms/blocks.hpp"
#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @brief The largest power of two of ranks, and the ranks left over, each folded into a neighbour: of the
/// first 2 x left_over ranks the odd ones take part, for themselves and for the rank before them.
struct PowerOfTwo {
    std::uint32_t size;
    std::uint32_t left_over;

    explicit PowerOfTwo(std::uint32_t ranks) : size(std::bit_floor(ranks)), left_over(ranks - size) {}

    /// @return place among the power of two, none for a rank that is folded into the next one
    std::optional<std::uint32_t> fold(std::uint32_t rank) const {
        if (rank >= 2 * left_over) {
            return rank - left_over;
        }
        return rank % 2 == 1 ? std::optional(rank / 2) : std::nullopt;
    }

    /// @return rank at a place
    std::uint32_t unfold(std::uint32_t place) const {
        return place < left_over ? 2 * place + 1 : place + left_over;
    }
};

/// @brief Blocks [kept, kept + number) that were kept, and as many given away, in one halving exchange.
struct Half {
    std::uint32_t partner; // place
    std::uint32_t kept, given, number;
};

/// @brief Reduce-scatter by recursive halving over a power of two of places, nearest partner first: each
/// exchange gives one half of what one has and reduces the other. Afterwards each place has one block,
/// reduced over all places.
/// @return the exchanges in order, for the way back
template <class ToRank>
std::vector<Half> halve(std::uint32_t place, std::uint32_t places, const Blocks &blocks, ToRank to_rank,
                        Writer &writer) {
    std::vector<Half> halves;
    std::uint32_t first = 0;
    std::uint32_t number = places;
    for (std::uint32_t mask = 1; mask < places; mask <<= 1) {
        number /= 2;
        const bool upper = (place & mask) != 0;
        const Half half{place ^ mask, upper ? first + number : first, upper ? first : first + number, number};
        const std::uint32_t peer = to_rank(half.partner);
        writer.send(peer, blocks.bytes(half.given, number), blocks.start(half.given));
        writer.reduce(peer, blocks.bytes(half.kept, number), blocks.start(half.kept));
        writer.next();
        first = half.kept;
        halves.push_back(half);
    }
    return halves;
}

/// @brief Allgather by recursive doubling: the exchanges of `halve` backwards, each returning what was
/// reduced since.
template <class ToRank>
void double_back(const std::vector<Half> &halves, const Blocks &blocks, ToRank to_rank, Writer &writer) {
    for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
        const std::uint32_t peer = to_rank(half->partner);
        writer.send(peer, blocks.bytes(half->kept, half->number), blocks.start(half->kept));
        writer.receive(peer, blocks.bytes(half->given, half->number), blocks.start(half->given));
        writer.next();
    }
}

} // namespace rankwise::collectives
