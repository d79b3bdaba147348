// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "types.hpp"

namespace rankwise::tune {

/// @brief What a mask becomes where the n-th unit of `from` becomes the n-th of `to`. Units of `to` that are
/// not in `from` become those that are left, so that no mask gets smaller, and one with all units stays as it
/// is.
PuSet exchanged(const PuSet &mask, const PuSet &from, const PuSet &to);

} // namespace rankwise::tune
