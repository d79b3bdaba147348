// SPDX-License-Identifier: BSD-3-Clause
#include "replay/run_engines.hpp"

namespace rankwise::replay {

Prediction replay_by_rank(const Case &of_case) {
    return run_engines<Order::by_rank>(of_case);
}

} // namespace rankwise::replay
