// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "machine/machine.hpp"
#include "machine/placement.hpp"

/// @brief Add what ranks share beyond interfaces and cores.
/// @param[in] from `bandwidths`: dicts as `machine::Bandwidth`; `interrupts`: a dict as
/// `machine::InterruptCore` with `links`, or None; may be empty
void add_resources(rankwise::machine::Machine &machine, const nanobind::dict &from);

/// @brief Add where each rank uses these.
/// @param[in] from a placement: `domain`, `memory_bound`, `interrupt_core`, `interrupt_processor`, `far`;
/// only what the machine needs
/// @throws Error they do not fit the ranks or the machine
void add_resources(rankwise::machine::Placement &placement, const nanobind::dict &from, std::uint32_t ranks,
                   const rankwise::machine::Machine &machine);
