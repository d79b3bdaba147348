/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SOCKETS_H
#define RANKWISE_RECORD_SOCKETS_H

#include "network/network.h"

/* What sockets.c counts into; shims that record nothing are built without that file. */
extern struct rw_network rw_sockets;

#endif
