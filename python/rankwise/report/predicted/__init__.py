# SPDX-License-Identifier: BSD-3-Clause
"""What a report says of a run on a machine: placements compared, and timelines of their replays."""
