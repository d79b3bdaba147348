# SPDX-License-Identifier: BSD-3-Clause
"""Studies shown: as text of 80 columns, as a page, as figures for papers, and the claims as Markdown."""
