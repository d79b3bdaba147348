# SPDX-License-Identifier: BSD-3-Clause
"""Predictions that a study keeps, so that it goes on where it was interrupted."""

import pytest

from rankwise.study.run import kept
from rankwise.study.run.kept import KeptPredictions
from rankwise.study.studies import dahu


def doubled(made):
    def double(number: int) -> float:
        made.append(number)
        return 2.0 * number

    return double


def test_what_was_predicted_is_not_predicted_again(tmp_path):
    made = []
    first = KeptPredictions(tmp_path / "new", float, "machine")
    assert [first.get(doubled(made), number) for number in (1, 2)] == [2.0, 4.0]
    again = KeptPredictions(tmp_path / "new", float, "machine")
    assert [again.get(doubled(made), number) for number in (1, 2, 3)] == [2.0, 4.0, 6.0]
    assert made == [1, 2, 3]


def test_another_machine_or_version_is_predicted_anew(tmp_path, monkeypatch):
    made = []
    KeptPredictions(tmp_path, float, "machine").get(doubled(made), 1)
    KeptPredictions(tmp_path, float, "other").get(doubled(made), 1)
    monkeypatch.setattr(kept, "_version", lambda: b"another")
    KeptPredictions(tmp_path, float, "machine").get(doubled(made), 1)
    assert made == [1, 1, 1]


def test_a_line_that_was_cut_off_is_predicted_anew(tmp_path):
    made = []
    for number in (1, 2):
        KeptPredictions(tmp_path, float).get(doubled(made), number)
    file = tmp_path / "predictions.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    again = KeptPredictions(tmp_path, float)
    assert [again.get(doubled(made), number) for number in (1, 2)] == [2.0, 4.0]
    assert made == [1, 2, 2]
    # AND what follows is whole
    assert KeptPredictions(tmp_path, float).get(doubled(made), 2) == 4.0
    assert made == [1, 2, 2]


def test_nothing_is_kept_without_a_directory():
    made = []
    predictions = KeptPredictions(None, float)
    for _ in range(2):
        predictions.get(doubled(made), 1)
    assert made == [1, 1]


def test_an_interrupted_study_goes_on(tmp_path, monkeypatch):
    # GIVEN a study of HPL that is interrupted at its fourth grid
    made = []

    def time_s(model, run, placement):
        made.append(run)
        if len(made) == 4:
            raise KeyboardInterrupt
        return float(run.rows)

    monkeypatch.setattr(dahu.LinpackModel, "time_s", time_s)
    monkeypatch.setattr(dahu, "THREADS", 1)
    request = dahu.Request(directory=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        dahu.run(request)
    # WHEN it is made again
    found = dahu.run(request)
    # THEN the three are not
    assert len(made) == 4 + 25
    assert len(found.tables[0].rows) == 28
