# SPDX-License-Identifier: BSD-3-Clause
"""Events put together to decisions."""

from rankwise.tune.decisions import decisions_of
from rankwise.tune.events import Change, Event, Move


def test_only_what_refuses_a_change_ends_its_proposal():
    # GIVEN a proposal of a dry run
    change = Change(moves=[Move(1, 2, "0", "1")])
    proposed = Event(1.0, 0.0, "proposed", group="g", why="rank 0 waits", change=change)
    # WHEN later nothing is proposed, for a reason
    nothing = Event(5.0, 0.0, "refused", group="g", why="it has no ranks")
    # THEN it is still one
    (decision,) = decisions_of([proposed, nothing])
    assert (decision.became, decision.why) == ("proposed", None)
    # WHEN the change itself is refused, it is not
    refused = Event(6.0, 0.0, "refused", group="g", why="too many changes", change=change)
    (decision,) = decisions_of([proposed, nothing, refused])
    assert (decision.became, decision.why, decision.ended_s) == ("refused", "too many changes", 5.0)
