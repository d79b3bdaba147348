# SPDX-License-Identifier: BSD-3-Clause
"""Why a replay takes as long as it does."""
