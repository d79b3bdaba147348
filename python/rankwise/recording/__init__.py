# SPDX-License-Identifier: BSD-3-Clause
"""What one run left behind: reads raw recordings, keeps them as Parquet tables, gives them as data frames."""

from rankwise.recording.collection import collect
from rankwise.recording.recording import Recording

__all__ = ["Recording", "collect"]
