// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "proc/descriptor.hpp"

namespace rankwise::tune {

/// @brief Open a file of a directory that others may write in: no link is followed and no mount entered, so
/// that neither a pipe nor a user's own file system holds up whoever opens it.
/// @return none where there is no such file
Descriptor open_beneath(int directory, const char *name, int flags);

} // namespace rankwise::tune
