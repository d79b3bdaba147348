# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of docs/find-your-problem.md: small programs, replayed with one problem each and without it."""
