# SPDX-License-Identifier: BSD-3-Clause
"""The page on accuracy: what came out, what missed, what is not there, and the files beside it."""

import gzip
from pathlib import Path

import msgspec
import pytest
from accuracy import page
from accuracy.described import Described
from accuracy.result import evaluate
from accuracy.sections import not_run
from accuracy.state import CasePlan, Monitored, Options, Predicted, Run, Sent, Setting, State

from rankwise.errors import RankwiseError
from rankwise.placement.file import NodeEntry, PlacementFile, RankEntry

OPTIONS = Options(2, 1, (12.5e6,), (2,), "openmpi", "/mpi/bin/mpiexec", ("one",), 3, 3, 1, False)
ONE = Setting("one", 2, 12.5e6)
NODES = [NodeEntry("node0", "0" * 64)]
RESULTS = "accuracy.json.gz"


def somewhere(core=0):
    return PlacementFile("rankwise.placement/1", NODES, [RankEntry(0, [0]), RankEntry(0, [core])], "blocked")


def planned(directory, options=OPTIONS, **known):
    """Two placements and one that fails: predicted 1.1, 1.8 and 3 s; the optimised one is the first again."""
    predicted = [
        Predicted("blocked", somewhere(), 1.1, 0.9, 1.2, 1000, 0.5, simgrid_s=2.2),
        Predicted("cyclic", somewhere(1), 1.8, 1.7, 1.9, 9000, 0.5, simgrid_s=2.0),
        Predicted("worst", somewhere(2), 3.0, 2.9, 3.1, 9000, 0.5),
        Predicted("optimised", somewhere(), 1.1, 0.9, 1.2, 1000, 0.5),
    ]
    state = State.create(
        directory, options, {"kernel": "6.1", "rankwise": "0", "mpi": "Open MPI v5.0.11, more"}
    )
    state.plan.cases.append(CasePlan(ONE, "The first", 1.0, predicted=predicted, **known))
    return state


def validated(directory, options=OPTIONS, cyclic_s=2.0, **known):
    state = planned(directory, options, **known)
    for repetition in range(3):
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0))
        state.add(Run(ONE.key, "cyclic", repetition, time_s=cyclic_s))
        state.add(Run(ONE.key, "worst", repetition, failure="status 1: /home/me/lmp: out of | memory"))
        state.add(Run(ONE.key, "optimised", repetition, time_s=1.0))
    return evaluate(state)


def row(text, begin):
    (found,) = [line for line in text.splitlines() if line.startswith(begin)]
    return [cell.strip() for cell in found.strip("|").split(" |")]


def test_the_page_has_what_came_out_of_each_way_to_predict_with_the_same_runs(tmp_path):
    # GIVEN two placements measured at 1 and 2 s, predicted at 1.1 and 1.8 s
    document = validated(tmp_path / "v")
    # WHEN the page is written
    path, figure, results = page.write(tmp_path / "accuracy.md", [document])
    text = path.read_text()
    # THEN there is a row a predictor: pairs, median and worst error, covered, width, gains, slower ones; the recorded
    # placement, whose time is known, is in none but pairs and gains
    assert text.startswith(page.MARK)
    ours = row(text, "| Development, Open MPI: 1 program, 1 case | Rankwise |")
    assert ours[2:5] == ["100.0 % of 1", "10.0 %", "-10.0 %"]
    # the only interval that says something does not hold the time
    assert ours[5:] == ["0 % of 1", "12 %", "0 % of 1", ""]
    # SimGrid says 2.2 and 2.0 s: the wrong order, and no interval
    assert row(text, "|  | SimGrid |")[2:] == ["0.0 % of 1", "0.0 %", "+0.0 %", "", "", "", ""]
    assert row(text, "|  | network bytes |")[2] == "100.0 % of 1"
    # AND a row a program, a line a failure, in which no table is broken and no directory is named
    assert row(text, "| **one**: The first | Open MPI | 2 | 50 % | 2 | 1.00 to 2.00 s | 10.0 % |")
    assert "* Open MPI, one.2.100mbit worst, repetition 1: status 1: lmp: out of | memory" in text
    assert "1 placement ran under two names" in text
    assert "All runs were valid." in text and "All that was planned was run." in text
    assert f"]({figure.name})" in text and f"({results.name})" in text
    assert "/mpi/bin" not in gzip.decompress(results.read_bytes()).decode()


def test_the_same_results_give_the_same_bytes_and_are_all_that_a_page_is_made_of(tmp_path):
    document = validated(tmp_path / "v")
    first = [each.read_bytes() for each in page.write(tmp_path / "accuracy.md", [document])]
    again = page.write(tmp_path / "accuracy.md", page.read_results(tmp_path / RESULTS))
    assert [each.read_bytes() for each in again] == first


def test_what_is_held_out_comes_first_with_its_commit(tmp_path):
    # GIVEN a validation of each half; in the one held out, cyclic was faster than predicted
    ours = validated(tmp_path / "v")
    held = validated(tmp_path / "h", msgspec.structs.replace(OPTIONS, frozen="0123abc"), cyclic_s=1.5)
    # WHEN the page is written
    text = page.render("accuracy", [ours, held])
    # THEN its first sentence and its first row are of these alone, and the commit is named
    first, second = text.split("In short:\n\n", 1)[1].splitlines()[:2]
    scale = "1 program ran with 2 ranks each, over Open MPI. The 2 nodes were emulated, at 100 Mbit/s."
    right = "In 1 pair of placements one was clearly faster (measured intervals do not overlap). Rankwise predicted "
    since = "not compared with a prediction before commit `0123abc`"
    assert first.startswith(f"* Held out ({since}): {scale} {right}")
    assert "the worst by +20 %" in first
    assert second.startswith(f"* Development: {scale} {right}")
    assert text.index("| Held out, Open MPI: ") < text.index("| Development, Open MPI: ")
    # AND what misses its aim stands out, of these alone
    assert row(text, "| Held out, Open MPI: 1 program, 1 case | Rankwise |")[3:5] == [
        "**20.0 %**",
        "**+20.0 %**",
    ]
    assert "**" not in "".join(row(text, "| Development, Open MPI: 1 program, 1 case | Rankwise |"))
    assert "The largest errors of programs held out: one +20.0 %.\n" in text
    # AND what is off by more than is aimed at is listed
    assert row(text, "| held out: one, Open MPI, 2 ranks, 100mbit |")[1:] == ["cyclic +20 % (1.50 s)", ""]
    assert "| development: one" not in text.split("## What missed")[1].split("## Not run")[0]


def test_a_page_without_programs_held_out_says_so_first(tmp_path):
    text = page.render("accuracy", [validated(tmp_path / "v")])
    assert text.split("In short:\n\n", 1)[1].startswith(
        "* Held out: no run of a program to which nothing was fitted"
    )


def test_pairs_out_of_order_are_named_with_both_times(tmp_path):
    # GIVEN cyclic, predicted to be slower, that runs say is faster
    text = page.render("accuracy", [validated(tmp_path / "v", cyclic_s=0.9)])
    found = row(text, "| development: one, Open MPI, 2 ranks, 100mbit |")
    assert found[1:] == [
        "cyclic +100 % (0.90 s)",
        "`cyclic` was faster (0.900 s, `blocked` 1.000 s), but was predicted slower (1.800 and 1.100 s)",
    ]


def test_runs_that_do_not_count_are_told_with_their_reason(tmp_path):
    # GIVEN runs of which two are not valid
    state = planned(tmp_path / "v")
    for repetition in range(3):
        late = "messages lay for 9.0% of the time" if repetition else ""
        state.add(Run(ONE.key, "blocked", repetition, time_s=1.0, invalid=late))
    text = page.render("accuracy", [evaluate(state)])
    found = row(text, "| development: one, Open MPI, 2 ranks, 100mbit |")
    assert found[1:] == ["2 runs", "messages lay for 9.0% of the time"]
    assert row(text, "| development (not complete) |")[2] == "one"
    assert row(text, "| development (not complete) |")[7:9] == ["1", "2"]
    assert "* *Not complete*: time ran out" in text
    # AND a recorded run that is not takes its whole case with it
    text = page.render("accuracy", [validated(tmp_path / "r", invalid="messages lay for 7.0% of the time")])
    found = row(text, "| development: one, Open MPI, 2 ranks, 100mbit |")
    assert found[1:] == ["the recorded run, so all of it", "messages lay for 7.0% of the time"]
    assert (
        "* Development: 0 programs ran with 2 ranks each, over Open MPI. The 2 nodes were emulated, at 100 Mbit/s. No "
        "run counts of any placement but the recorded one." in text
    )


def test_what_was_not_run_is_told_unless_another_validation_has_it(tmp_path):
    # GIVEN a validation that came to its first rate, and a program that was not installed
    options = msgspec.structs.replace(OPTIONS, rates_bytes_per_s=(12.5e6, 25e6), not_run={"hpl": "no `xhpl`"})
    document = validated(tmp_path / "v", options)
    # THEN what it did not come to is named, and why
    assert not_run([document]) == [
        "* Open MPI: hpl: no `xhpl`.",
        "* Open MPI: one.2.200mbit: no time was left.",
    ]
    # AND nothing that another one has of the same MPI
    faster = msgspec.structs.replace(ONE, rate_bytes_per_s=25e6)
    cases = [
        msgspec.structs.replace(document.cases[0], setting=each) for each in (faster, Setting("hpl", 2, 25e6))
    ]
    other = msgspec.structs.replace(document, options=OPTIONS, cases=[*document.cases, *cases])
    assert not_run([document, other]) == ["All that was planned was run."]


def test_programs_of_a_file_that_were_left_out_are_told(tmp_path):
    # GIVEN a file of three programs, of which one was chosen, and one cannot be run with this MPI
    described = tuple(Described(name, name, "", ("./app",)) for name in ("one", "other"))
    described += (Described("third", "third", "", ("./app",), ("mpich",)),)
    options = msgspec.structs.replace(OPTIONS, described=described)
    document = validated(tmp_path / "v", options)
    # THEN the others are named, unless another validation has it
    assert not_run([document]) == [
        "* Open MPI: other: not chosen for this run.",
        "* Open MPI: third: the file of programs says how to get them for another MPI only.",
    ]
    both = msgspec.structs.replace(document, options=msgspec.structs.replace(options, programs=("other",)))
    assert "not chosen" not in "".join(not_run([document, both]))


def test_lists_of_what_went_wrong_leave_the_page_one_to_read(tmp_path):
    # GIVEN a hundred cases that miss, with as many failures
    document = validated(tmp_path / "v", cyclic_s=0.9)
    cases = [
        msgspec.structs.replace(document.cases[0], name=f"{at}", setting=Setting(f"{at % 20}", at, 12.5e6))
        for at in range(100)
    ]
    many = msgspec.structs.replace(document, cases=cases, failures=document.failures * 100)
    text = page.render("accuracy", [many])
    # THEN the page has its limit, and says how many more there are
    assert len(text.splitlines()) <= 300
    assert "60 more are in the results." in text


def test_a_page_is_made_anew_in_part(tmp_path):
    # GIVEN a page of two validations
    old = validated(tmp_path / "a")
    other = validated(tmp_path / "b", msgspec.structs.replace(OPTIONS, rates_bytes_per_s=(25e6,)))
    page.write(tmp_path / "accuracy.md", [old, other])
    # WHEN the first is made anew
    new = validated(tmp_path / "c", cyclic_s=1.9)
    documents = page.renewed(page.read_results(tmp_path / RESULTS), [new])
    # THEN it has the old one's place
    assert [each.cases[0].placements[1].measured.median_s for each in documents] == [1.9, 2.0]
    # AND validations of a new kind follow
    third = msgspec.structs.replace(new, options=msgspec.structs.replace(new.options, ranks=(3,)))
    assert page.renewed([old, other], [third]) == [old, other, third]
    # AND two of one kind are both shown, in the place of those before
    assert page.renewed([old, other, old], [new, new]) == [new, new, other]


def test_what_others_count_of_the_recorded_messages_is_said(tmp_path):
    # GIVEN 1000 recorded bytes in 10 frames of 66 bytes, of 1730 counted ones 20 of startup
    sent = Sent("node0", 1000, 1730, 10, recorded_messages=4, startup_bytes=20)
    # AND messages that the component counts in 3 of 4 pairs, and in all alike in a longer run
    counted = Monitored(4, 3, 10, 12, 1000, 1100, alike=4)
    text = page.render("accuracy", [validated(tmp_path / "v", sent=[sent], monitored=counted)])
    # THEN both are said
    assert "In 4 of 4 pairs of ranks, Open MPI's monitoring component counts the same messages" in text
    assert "count up to 5.0 % more bytes than the messages, their headers and the start" in text


def test_without_a_longer_run_messages_that_are_sent_once_count_too(tmp_path):
    # GIVEN counts of the component, of which nothing says what is sent once
    counted = Monitored(4, 3, 10, 12, 1000, 1100, alike=None)
    # WHEN the page is written
    text = page.render("accuracy", [validated(tmp_path / "v", monitored=counted)])
    # THEN it does not say that these are left out, but by how much all bytes differ
    assert "In 3 of 4 pairs of ranks both counts are equal." in text
    assert "left out" not in text.split("## Programs")[0].split("Open MPI's monitoring")[1]
    assert " Of one the component counts 110 % of the bytes." in text
    # AND of those that nearly agree by how much at most
    near = Monitored(4, 3, 10, 12, 1000, 1004, alike=None)
    text = page.render("accuracy", [validated(tmp_path / "w", monitored=near)])
    assert " The bytes of 1 program differ by at most 0.4 %." in text


def test_predictions_of_several_versions_of_the_code_are_said_to_be_so(tmp_path):
    one, two = (validated(tmp_path / name, code=name * 64) for name in "ab")
    assert "predicted by the same code**: 2 versions" in page.render("accuracy", [one, two])
    assert "predicted by the same code" not in page.render("accuracy", [one, one])


@pytest.mark.parametrize("name", ["accuracy.svg"])
def test_a_page_and_the_files_beside_it_are_several(tmp_path, name):
    # WHEN a page would be written over its own figure
    with pytest.raises(RankwiseError, match="both the page and a file beside it") as caught:
        page.check(tmp_path / name, force=True)
    # THEN it is refused, with a way out
    assert "-o accuracy.md" in caught.value.hint


@pytest.mark.parametrize(
    "data", [None, b"[", b"[{}]", b"{}", b"\x1f\x8bnothing", gzip.compress(b"[]" * 99, mtime=0)[:-9]]
)
def test_results_that_are_none_are_named(tmp_path, data):
    # GIVEN no results beside a page, something else, or a part of them
    path = tmp_path / RESULTS
    if data is not None:
        path.write_bytes(data)
    # THEN the error says which file
    with pytest.raises(RankwiseError, match=r"accuracy\.json\.gz"):
        page.read_results(path)


def test_a_page_takes_the_place_of_a_page_only(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("precious")
    with pytest.raises(RankwiseError, match=r"README.md. exists and is not of such a page"):
        page.check(path, force=False)
    page.check(path, force=True)
    # AND so do its figure and its results
    path.unlink()
    path.with_suffix(".svg").write_text("precious")
    with pytest.raises(RankwiseError, match=r"README.svg. exists and is not of such a page"):
        page.check(path, force=False)
    # AND a page of this kind is replaced with what is beside it
    path.write_text(page.MARK + "\nold")
    page.check(path, force=False)
    with pytest.raises(RankwiseError, match="cannot be written"):
        page.check(Path(tmp_path / "missing" / "a.md"), force=False)
