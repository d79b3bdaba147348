# SPDX-License-Identifier: BSD-3-Clause
"""Prediction: a schedule replayed on a machine with the ranks placed somewhere."""
