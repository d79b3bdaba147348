// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace rankwise::trace {

/// @return a function as its source has it: `ns::f(int)` of `_ZN2ns1fEi`; what is no C++ symbol stays as it
/// is
/// A symbol of some hundred characters may take hours: it is asked for in a process that is ended then
/// (python/rankwise/recording/names.py).
std::string readable_name(const std::string &symbol);

} // namespace rankwise::trace
