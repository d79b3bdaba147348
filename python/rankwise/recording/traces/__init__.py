# SPDX-License-Identifier: BSD-3-Clause
"""Exact traces on one time axis: operations, messages, clocks, waiting."""
