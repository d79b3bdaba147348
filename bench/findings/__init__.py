# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise report` tells of real programs."""
