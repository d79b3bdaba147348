# SPDX-License-Identifier: BSD-3-Clause
"""Runs beside runs: what changed, what of it is more than noise, and how a program scales."""
