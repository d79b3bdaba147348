# SPDX-License-Identifier: BSD-3-Clause
"""Studies, one a file: `SUMMARY`, `CLAIMS`, `MODES` if it cannot be made on all, and `run(request)`."""
