# SPDX-License-Identifier: BSD-3-Clause
"""The Python side of the recorder: its library, the variables it reads, the directory it writes to."""
