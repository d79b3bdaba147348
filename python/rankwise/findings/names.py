# SPDX-License-Identifier: BSD-3-Clause
"""Names of findings, in the order in which they are looked for."""

OF_CORES = (
    "too-many-ranks",
    "shared-core",
    "bound-otherwise",
    "threads-share-cores",
    "busy-cores",
    "cores-changed",
)
"""Of waiting for a core; they come first, as the times that others are told from include it."""

NAMES = (
    *OF_CORES,
    "interrupt-core",
    "straggler",
    "load-imbalance",
    "out-of-phase",
    "late-collective",
    "late-receiver",
    "rendezvous",
    "late-sender",
    "serialised",
    "small-messages",
    "collective-algorithm",
    "collective-dominates",
    "unbound-migrating",
    "pages-elsewhere",
    "order-against-hierarchy",
    "memory-shared",
    "far-placement",
    "interface-saturated",
    "interface-idle",
    "order-does-not-matter",
    "tcp-retransmits",
    "lost-packets",
)
"""All of them; each is a file of `defects/`."""
