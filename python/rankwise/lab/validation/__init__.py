# SPDX-License-Identifier: BSD-3-Clause
"""Predictions against measured runs in a lab: which programs, where, how often, and what came out."""
