// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @brief A run of elements as bytes, cut in halves: the upper one is longer where they are odd.
struct Window {
    std::uint64_t first, number, element;

    /// @brief The whole buffer of an operation.
    static Window of(const Operation &operation) {
        const std::uint64_t element = std::max<std::uint32_t>(operation.element_bytes, 1);
        return {0, operation.bytes / element, element};
    }
    std::uint64_t bytes() const { return number * element; }
    std::uint64_t offset() const { return first * element; }
    Window lower() const { return {first, number / 2, element}; }
    Window upper() const { return {first + number / 2, number - number / 2, element}; }
};

/// @brief The power of two of ranks that takes part in halving; of the first 2 x left_over ranks the even
/// ones do.
struct EvenPlaces {
    std::uint32_t size, left_over;

    explicit EvenPlaces(std::uint32_t ranks) : size(std::bit_floor(ranks)), left_over(ranks - size) {}
    bool paired(std::uint32_t rank) const { return rank < 2 * left_over; }
    std::uint32_t place(std::uint32_t rank) const { return paired(rank) ? rank / 2 : rank - left_over; }
    std::uint32_t rank(std::uint32_t place) const {
        return place < left_over ? 2 * place : place + left_over;
    }
};

/// @brief What was kept and given in one halving exchange.
struct WindowExchange {
    std::uint32_t partner; // place
    Window kept, given;
};

/// @brief Both ranks of a pair reduce half of the buffer, and the even one gets the other's half.
/// @return false for the odd rank, which takes no further part
bool fold_by_halves(const Operation &operation, const EvenPlaces &places, Writer &writer);

/// @brief The exchanges of reduce-scatter by recursive halving, nearest partner first.
std::vector<WindowExchange> halving_exchanges(std::uint32_t place, std::uint32_t places, Window whole);

/// @brief Write those exchanges as steps.
void write_halving(const std::vector<WindowExchange> &exchanges, const EvenPlaces &places, Writer &writer);

} // namespace rankwise::collectives
