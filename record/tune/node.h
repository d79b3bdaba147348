/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner of a node on which `rankwise tune` itself does not run: a rank there starts it. */
#ifndef RANKWISE_RECORD_TUNE_NODE_H
#define RANKWISE_RECORD_TUNE_NODE_H

/**
 * @brief Make the directory of pages where it is not there yet; whoever makes it starts the node's tuner.
 *
 * Does nothing unless RANKWISE_TUNE_NODE says what that tuner is asked.
 *
 * @return 0; -1 if the directory's parent cannot be made, or is another user's, or the tuner cannot be
 * started: then no directory is left.
 */
__attribute__((visibility("hidden"))) int rw_node_join(const char *directory);

#endif
