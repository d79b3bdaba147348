// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include "machine/network.hpp"

/// @brief A network from what `rankwise.machine.network.plain` gives; `None` is one without switches.
/// @throws rankwise::Error it has more slots or ports than can be numbered
rankwise::machine::Network network_from(const nanobind::object &from);
