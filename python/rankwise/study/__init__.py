# SPDX-License-Identifier: BSD-3-Clause
"""Experiments of the papers, on anything: a study a file in `studies`, and the table of all claims."""
