# SPDX-License-Identifier: BSD-3-Clause
"""A recording in the formats of other tools, a format a file."""
