/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_TOPOLOGY_H
#define RANKWISE_RECORD_TOPOLOGY_H

/**
 * @brief Write raw/HOST.NODE.topology.tar, the files hwloc needs to see this node again, unless another rank
 * did.
 *
 * To be read with HWLOC_FSROOT, or HWLOC_COMPONENTS=linux, on the unpacked files.
 */
__attribute__((visibility("hidden"))) void rw_save_topology(void);

#endif
