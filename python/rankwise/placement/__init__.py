# SPDX-License-Identifier: BSD-3-Clause
"""Placements of ranks on cores, and what a placement does to a program's messages."""
