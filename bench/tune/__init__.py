# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise tune` gains and costs."""
