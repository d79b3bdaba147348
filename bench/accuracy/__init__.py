# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of many programs against their runs, and the page on accuracy."""
