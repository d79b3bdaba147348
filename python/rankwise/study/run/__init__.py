# SPDX-License-Identifier: BSD-3-Clause
"""How cases of studies become outcomes: predicted for a machine file, or measured in a lab or on a cluster."""
