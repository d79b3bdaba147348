# SPDX-License-Identifier: BSD-3-Clause
"""Measuring a machine: run the microbenchmarks, keep the samples, fit a machine file to them."""
