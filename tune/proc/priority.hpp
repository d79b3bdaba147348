// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rankwise::tune {

/// @brief Have this process come before all that is not real-time, where that is permitted (SCHED_RR,
/// sched(7)); otherwise it asks for short slices, which Linux 6.12 and later let in before long ones, without
/// any right.
///
/// Ranks that spin are on all cores. Where each session has its share of a core (sched_autogroup_enabled),
/// Linux 6.18 lets a process wait for minutes beside a session whose threads begin and end all the time: a
/// killed one, which needs a core to end, as well.
///
/// Whoever then computes for more than a tenth of a second without a pause is an ordinary process again until
/// the next call: ranks wait for a look at them, but for no long search (RLIMIT_RTTIME, getrlimit(2)).
void come_first();

} // namespace rankwise::tune
