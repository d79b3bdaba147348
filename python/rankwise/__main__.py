# SPDX-License-Identifier: BSD-3-Clause
"""`python -m rankwise` is `rankwise`."""

import sys

from rankwise.cli import main

sys.exit(main())
