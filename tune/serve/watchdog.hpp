// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/un.h>

#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Tells systemd that the daemon comes round, where the unit has WatchdogSec= (sd_notify(3)).
class Watchdog {
  public:
    Watchdog();

    /// @brief Called each time round; says so a few times in the interval that systemd waits.
    void come_round();

  private:
    Descriptor socket_; ///< none where nobody waits
    sockaddr_un address_{};
    socklen_t address_bytes_ = 0;
    Seconds pause_ = 0, due_ = 0;
};

} // namespace rankwise::tune
