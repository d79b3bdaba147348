# SPDX-License-Identifier: BSD-3-Clause
"""Numbers for people."""

import pytest

from rankwise.quantities import bytes_text, counted, rounded, seconds_text


@pytest.mark.parametrize("count", [2, 9_999, 10_000, 99_999, 100_001])
def test_what_is_compared_is_counted_in_full(count):
    # `100 k` for 99999 ranks beside `the program has 100001` would say nothing
    assert counted(count, "rank") == f"{count} ranks"


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 message"), (9_999, "9999 messages"), (10_000, "10 k messages"), (99_949, "99.9 k messages")],
)
def test_what_there_is_much_of_is_rounded_to_three_digits(count, text):
    assert rounded(count, "message") == text


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999 B"), (1000, "1 kB"), (1500, "1.5 kB"), (2_000_000, "2 MB"), (3e9, "3 GB")]
)
def test_prefixes_of_bytes_are_decimal(count, text):
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (3e-10, "0.3 ns"),
        (9.994e-7, "999 ns"),
        (9.996e-7, "1 us"),
        (0.9996, "1 s"),
        (59.9, "59.9 s"),
        (7380, "2 h 03 min"),
    ],
)
def test_times_have_three_digits_and_never_a_thousand_of_a_unit(value, text):
    assert seconds_text(value) == text
