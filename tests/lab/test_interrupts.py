# SPDX-License-Identifier: BSD-3-Clause
"""The experiment on the interrupt core: what is made of its launches, and the page."""

import pytest
from interrupts import page
from interrupts.by_core import ByCore
from interrupts.predicted import predict
from interrupts.result import CONFIGURATIONS, SIZES, Cost, Result, Scan, costs

from rankwise.errors import RankwiseError

NUMBER = '{{ value = {}, obtained = "assumed", source = "test" }}'
MACHINE = """
schema = "rankwise.machine/1"
name = "two nodes of a lab"
[node]
count = 2
topology = "package:1 core:2"
host_cores = [[0, 1], [0, 1]]
"""
COST = Cost(2e-6, 1e-9)


def scans(runs=3, rate=10_000.0):
    """Launches in which the computing rank loses on the interrupt core what messages cost there."""
    found = []
    for at in range(runs):
        for name in CONFIGURATIONS:
            rows = [
                {
                    "size_bytes": size,
                    "latency_s": [1e-4 + 1e-6 * at, 1.2e-4],
                    "bytes_per_s": [1e8, 9e7],
                    "messages_per_s": rate,
                    "frames_per_s": 5e4 if name == CONFIGURATIONS[0] else 20,
                    "kept_share": 1 - (rate * COST.of(size) if name == CONFIGURATIONS[0] else 0),
                }
                for size in SIZES
            ]
            found.append(Scan(name, rows))
    return found


def test_costs_are_what_the_computing_rank_loses():
    found = costs(scans())
    assert found.per_message_s == pytest.approx(COST.per_message_s, rel=0.01)
    assert found.per_byte_s == pytest.approx(COST.per_byte_s, rel=0.01)


def test_the_page_says_who_suffers():
    predicted = {size: dict.fromkeys(CONFIGURATIONS, 0.9) for size in SIZES}
    by_core = [ByCore(0, 8, 1000, {0: 996, 1: 4}, {0: 1000, 1: 2000})]
    text = page.text(Result(scans(), cost=COST, predicted=predicted, by_core=by_core), "MPICH 5.0.2")
    pairs = 3 * len(SIZES)
    assert f"In {pairs} of {pairs} comparisons (6 sizes) the computing rank was slower" in text
    assert "takes in 50000 frames a second if it is that core, else 20" in text
    # AND predictions are judged where nothing was fitted
    assert (
        "Of the sizes to which nothing was fitted, 3 have two cores that are apart. At 0 of them the prediction is "
        "inside the measured interval." in text
    )
    assert "| 512 | 0.97 (0.97 - 0.97) | 1.00 (1.00 - 1.00) | yes | 0.97 (0.97 - 0.97) | 1.00 |" in text
    # AND interrupts a message by core, from recorded launches
    assert "it takes at least 99.60% of the interrupts for packets" in text
    assert "| 0 | 8 | 1000 | 0 | 0.996 | 99.60% | 1.00 |\n| 0 | 8 | 1000 | 1 | 0.004 | 0.40% | 2.00 |" in text
    assert max(map(len, text.splitlines())) <= 220
    # AND what the launches say of each published claim: here latency is the same on both cores, and so is bandwidth
    assert "on it, a rank loses in the median another 7 % of its speed alone" in text
    assert "In the median that cost it another 7 % of the speed that it has alone." in text
    assert (
        "| bandwidth | 2.0 Gb/s on the interrupt core, 3.0 on its sibling | beside it 1.00 times as good"
        in text
    )
    count = 2 * len(SIZES)
    assert (
        f"Of {count} comparisons: 0 apart and better beside it, 0 apart and better on it, {count} not apart |"
        in text
    )


def test_a_page_of_another_kind_is_not_replaced(tmp_path):
    other = tmp_path / "other.md"
    other.write_text("# Mine\n")
    with pytest.raises(RankwiseError, match="is no such page"):
        page.check(other, force=False)
    page.check(other, force=True)


def machine_file(path):
    values = {"L_s": 1e-5, "o_s": 1e-6, "g_s": 0.0, "G_s_per_byte": 1e-9, "O_s_per_byte": 0.0}
    segment = "\n".join(f"{key} = {NUMBER.format(value)}" for key, value in values.items())
    text = MACHINE
    for channel, protocol in (
        ("self", "shared-memory"),
        ("package", "shared-memory"),
        ("network", "host-processed"),
    ):
        text += f'[[link_classes]]\nchannel = "{channel}"\nprotocol = "{protocol}"\n'
        text += f'progress = "independent"\noverlap = true\n[[link_classes.segments]]\n{segment}\n'
    path.write_text(text)
    return path


@pytest.mark.parametrize("size", [512, 262144])
def test_the_computing_rank_is_predicted_to_lose_what_its_core_does(tmp_path, size):
    found = predict(machine_file(tmp_path / "lab.machine.toml"), COST, size)
    beside, on = found["receiver"], found["computing rank"]
    assert beside == pytest.approx(1)
    assert 0.05 < on < 0.95
