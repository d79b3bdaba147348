# SPDX-License-Identifier: BSD-3-Clause
"""Names of C++ functions: found where they can be, and never waited for."""

import resource
import string

import pytest

from rankwise.recording.names import CPU_S, readable_names

DIGITS = string.digits + string.ascii_uppercase


def growing(times: int) -> str:
    """A function whose parameters each have twice what the one before has: A<int, int>, A<A<int, int>, A<...>>, ..."""
    numbers = [DIGITS[at // 36] * (at >= 36) + DIGITS[at % 36] for at in range(times)]
    return "_Z1f1AIiiE" + "".join(f"S_IS{number}_S{number}_E" for number in numbers)


def used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_names_are_as_in_the_source():
    names = readable_names(["_ZN2ns1fEi", "main", "i", "_Znonsense", "_Z1f\udc80", "_ZN2ns1fEi"])
    assert names == {"_ZN2ns1fEi": "ns::f(int)", "_Znonsense": "_Znonsense"}
    assert readable_names(["main"]) == readable_names([]) == {}


def test_a_symbol_that_repeats_itself_a_little_has_a_name():
    (name,) = readable_names([growing(3)]).values()
    assert name.count("int") == 2 + 4 + 8 + 16


@pytest.mark.one_of(3)
@pytest.mark.parametrize("times", [17, 30, 60])
def test_a_name_without_end_is_not_waited_for(times):
    # GIVEN a symbol of a few hundred characters that stands for 2^17, 2^30 or 2^60 parts, among others
    symbol = growing(times)
    assert len(symbol) < 800
    before_s = used_s()
    names = readable_names([symbol, "_ZN2ns1fEi"])
    # THEN the others have theirs, and it took no more than is allowed
    assert names["_ZN2ns1fEi"] == "ns::f(int)"
    assert symbol not in names or names[symbol] == symbol
    assert used_s() - before_s < CPU_S + 2
