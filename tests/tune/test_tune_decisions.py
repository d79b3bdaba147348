# SPDX-License-Identifier: BSD-3-Clause
"""Events put together to decisions."""

from rankwise.cli.tune_show import proposal_line
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


def test_a_dry_run_says_why_in_the_line_of_its_proposal():
    # GIVEN a change that was proposed, and one that was kept
    change = Change(moves=[Move(1, 2, "0", "1")])
    proposed = Event(1.0, 0.0, "proposed", group="g", why="rank 0 waits", change=change, ranks=[0])
    kept = Event(2.0, 0.0, "kept", group="g", why="it gains", change=change, ranks=[0])
    # THEN the first has its reason, and the second, which was measured, needs none
    (decision,) = decisions_of([proposed])
    assert proposal_line(decision) == "proposed: rank 0 from PU 0 to 1, because rank 0 waits"
    (decision,) = decisions_of([proposed, kept])
    assert proposal_line(decision) == "kept: rank 0 from PU 0 to 1"


def test_what_is_given_back_on_the_way_is_no_proposal():
    # GIVEN a change that was kept, whose ranks were given back what they had
    change, back = Change(moves=[Move(1, 2, "0", "1")]), Change(moves=[Move(1, 2, "1", "0")])
    proposed = Event(1.0, 0.0, "proposed", group="g", why="rank 0 waits", change=change)
    kept = Event(2.0, 0.0, "kept", group="g", why="it gains", change=change)
    given = Event(9.0, 0.0, "restored", group="g", why="its ranks have what they had", change=back)
    # THEN there was one change, which was kept
    assert [decision.became for decision in decisions_of([proposed, kept, given])] == ["kept"]
