# SPDX-License-Identifier: BSD-3-Clause
"""From what was measured to parameters: which samples count, quantities with intervals, and LogGOPS by size."""
