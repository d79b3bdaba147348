// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "types.hpp"

namespace rankwise::tune {

/// @brief NUMA nodes that memory of a policy may be put on, as numa_maps has it (`bind:0-1`,
/// `prefer=static:0`, `prefer (many):0`): all of them, or those that it names, of others none. What is spread
/// on purpose stays so.
/// @param[in] rest of the line behind that word
PuSet nodes_of_policy(std::string_view policy, std::string_view rest);

} // namespace rankwise::tune
