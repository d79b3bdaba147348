# SPDX-License-Identifier: BSD-3-Clause
"""What a recording shows: `build` makes the data, `text` and `html` show it, one view a file."""
