// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace rankwise::trace {

/// @return a function as its source has it: `ns::f(int)` of `_ZN2ns1fEi`; what is no C++ symbol stays as it
/// is
std::string readable_name(const std::string &symbol);

} // namespace rankwise::trace
