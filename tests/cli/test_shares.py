# SPDX-License-Identifier: BSD-3-Clause
"""Shares as options take them."""

from argparse import ArgumentTypeError

import pytest

from rankwise.cli.parsing import share


@pytest.mark.parametrize("text", ["0", "-0.1", "1.01", "nan", "inf", "5%", ""])
def test_what_is_no_share_is_refused_with_an_example(text):
    with pytest.raises(ArgumentTypeError, match=r"more than 0 and at most 1, for example `0\.05`"):
        share(text)


@pytest.mark.parametrize(("text", "value"), [("0.05", 0.05), ("1", 1.0), ("1e-3", 1e-3)])
def test_shares_are_more_than_nothing_and_at_most_all(text, value):
    assert share(text) == value
