# SPDX-License-Identifier: BSD-3-Clause
"""Who sends to whom and waits for whom, by kind, communicator, size and time."""
