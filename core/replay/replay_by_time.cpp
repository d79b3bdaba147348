// SPDX-License-Identifier: BSD-3-Clause
#include "replay/run_engines.hpp"

namespace rankwise::replay {

Prediction replay_by_time(const Case &of_case) {
    return run_engines<Order::by_time>(of_case);
}

} // namespace rankwise::replay
