# SPDX-License-Identifier: BSD-3-Clause
"""Running a program with its ranks placed, and checking inside the ranks that they are where they should be."""
