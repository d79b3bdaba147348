# SPDX-License-Identifier: BSD-3-Clause
"""What may be wrong with a run, a file each: `NAME`, `PAGE` and `find(evidence)`."""
