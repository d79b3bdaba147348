// SPDX-License-Identifier: BSD-3-Clause
#include "rooms.hpp"

NB_MODULE(_core, module) {
    bind_error(module);
    bind_collectives(module);
    bind_machine(module);
    bind_placement(module);
    bind_replay(module);
    bind_programs(module);
    bind_trace(module);
    bind_workloads(module);
}
