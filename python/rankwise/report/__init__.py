# SPDX-License-Identifier: BSD-3-Clause
"""What a recording shows: `build` makes the data, `text` and `html` show it, one view a file."""

# The sections by name, in their order: the same in the terminal and in HTML.
SECTIONS = {
    "fix": "What to fix",
    "efficiency": "Efficiency",
    "time": "Time",
    "map": "Map",
    "placements": "Placements compared",
    "predicted": "Predicted timeline",
    "distribution": "Message distribution",
    "matrix": "Communication matrix",
    "waiting": "Who waits for whom",
    "ranks": "Time by rank",
    "calls": "Where MPI time goes",
    "collectives": "Collectives",
    "call-sites": "Call sites",
    "sizes": "Message sizes",
    "phases": "Phases and iterations",
    "network": "Network time",
    "use": "What the ranks used",
    "tuning": "Tuning",
    "context": "Context",
}
# Drawn in HTML alone.
IN_HTML_ONLY = ("predicted",)
# What the report begins with.
FIRST = ("fix", "efficiency", "time", "map")
# Findings, and ranks of which the time is drawn, on the first screen; and nodes of its map.
FIRST_FINDINGS, FIRST_RANKS, FIRST_NODES = 3, 5, 8
