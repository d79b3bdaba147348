// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "arrays.hpp"
#include "machine/interface.hpp"

/// Times cross the border as seconds; inside they are whole picoseconds.
/// @throws rankwise::Error longer than anything takes
rankwise::machine::Picoseconds picoseconds(double seconds);

/// Per byte, in picoseconds.
double picoseconds_per_byte(double seconds);

/// A division is exact to the last bit, a product is not.
inline double seconds(rankwise::machine::Picoseconds time) {
    return static_cast<double>(time) / 1e12;
}

/// A field of each item, as seconds.
template <class Items, class Field> NumpyArray<double> seconds(const Items &items, Field field) {
    return column<double>(items, [&](const auto &item) { return seconds(item.*field); });
}
