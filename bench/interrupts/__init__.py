# SPDX-License-Identifier: BSD-3-Clause
"""Which core a node's protocol work runs on, and who suffers: measured in a lab, and predicted."""
