// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "error.hpp"

namespace rankwise::tune {

/// @brief It cannot start, and could not the next time either: nobody need try again before something is
/// changed.
class Refused : public Error {
    using Error::Error;
};

} // namespace rankwise::tune
