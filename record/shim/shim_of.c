/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/shim_of.h"

const struct rw_shim rw_shim = {RW_SHIM_OF, RW_SHIM_VARIABLE, RW_SHIM_NOT_DONE};
