// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

// One function a room of core/, defined in the file of the room's name. A room adds what it does with a
// schedule to the class that bind_schedule makes.
void bind_error(nanobind::module_ &module);
void bind_trace(nanobind::module_ &module);
void bind_collectives(nanobind::module_ &module);
void bind_schedule(nanobind::module_ &module);
void bind_machine(nanobind::module_ &module);
void bind_replay(nanobind::module_ &module);
void bind_explain(nanobind::module_ &module);
void bind_placement(nanobind::module_ &module);
void bind_workloads(nanobind::module_ &module);
