# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on other cores while they run: what the tuner of a node is started with, and what it leaves behind."""
