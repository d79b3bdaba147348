# SPDX-License-Identifier: BSD-3-Clause
"""Recordings, GOAL, SimGrid and OTF2 traces become schedules."""
