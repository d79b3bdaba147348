# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a run, what it costs, and what to do."""
