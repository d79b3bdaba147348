// SPDX-License-Identifier: BSD-3-Clause
#include "rooms.hpp"

NB_MODULE(_core, module) {
    bind_error(module);
    bind_trace(module);
    bind_collectives(module);
    bind_schedule(module);
    bind_machine(module);
    bind_replay(module);
    bind_explain(module);
    bind_placement(module);
    bind_workloads(module);
}
