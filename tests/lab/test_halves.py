# SPDX-License-Identifier: BSD-3-Clause
"""The page's two halves: programs held out come first, with the commit that was frozen before their first run."""

import mpis
import msgspec

from rankwise.lab.validation import page

RESULTS = mpis.TOP / "docs" / "accuracy.json"


def test_what_is_held_out_is_summed_up_by_itself_and_first_with_its_commit():
    # GIVEN two validations, of which one has programs that were held out
    ours, theirs, *_ = page.read_results(RESULTS)
    held = msgspec.structs.replace(theirs, options=msgspec.structs.replace(theirs.options, frozen="0123abc"))
    # WHEN the page is written
    text, _ = page.render("accuracy", [ours, held])
    # THEN its first sentence is of these alone, and it names the commit
    first = text.split("In short:\n\n", 1)[1].splitlines()
    assert first[0].startswith("* Held out: ") and str(theirs.predicted.pairs) in first[0]
    assert first[1].startswith("* Development: ") and str(ours.predicted.pairs) in first[1]
    assert "before commit `0123abc`" in text
