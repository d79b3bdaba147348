/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner of a node on which `rankwise tune` itself does not run: a rank there starts it. */
#ifndef RANKWISE_RECORD_TUNE_NODE_H
#define RANKWISE_RECORD_TUNE_NODE_H

#define RW_NODE_NO_DIRECTORY (-1)
#define RW_NODE_NO_TUNER (-2)

/**
 * @brief Make the directory of pages where it is not there yet; whoever makes it starts the node's tuner.
 *
 * Does nothing unless RANKWISE_TUNE_NODE says what that tuner is asked.
 *
 * @return 0; RW_NODE_NO_DIRECTORY if it or its parent cannot be made, or the parent is another user's;
 * RW_NODE_NO_TUNER if the tuner cannot be started: then no directory is left, unless another rank has its
 * page there already.
 */
__attribute__((visibility("hidden"))) int rw_node_join(const char *directory);

#endif
