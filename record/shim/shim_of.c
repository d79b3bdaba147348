/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/shim_of.h"

#ifdef RW_SHIM_RECORDS
#include "shim/setter.h"
#include "shim/transports.h"
#define NETWORK &rw_shim_network
#define SETTER &rw_shim_setter
#else
#define NETWORK 0
#define SETTER 0
#endif

const struct rw_shim rw_shim = {RW_SHIM_OF, RW_SHIM_VARIABLE, RW_SHIM_NOT_DONE, NETWORK, SETTER};
