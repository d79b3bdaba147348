// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "collectives/operation.hpp"
#include "collectives/select.hpp"

/// @throws rankwise::Error there is no such operation
rankwise::collectives::Collective collective_of(const std::string &name);

/// @throws rankwise::Error it is none of `mpich`, `openmpi`, `openmpi-4`
rankwise::collectives::Library library_of(const std::string &name);
