# SPDX-License-Identifier: BSD-3-Clause
"""Machine files: what is written is read back, and what is wrong is named by key and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import RankwiseError
from rankwise.machine.file import (
    Estimate,
    LinkClass,
    Machine,
    Node,
    Resource,
    Segment,
    dumps,
    fingerprint,
    load,
    loads,
    save,
)

TOP = Path(__file__).resolve().parents[2]
SHIPPED = sorted((TOP / "machines").glob("*.machine.toml"))

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)
numbers = st.floats(min_value=0, max_value=1e12, allow_nan=False)


@st.composite
def estimates(draw):
    value = draw(numbers)
    obtained = draw(st.sampled_from(["measured", "published", "assumed"]))
    if obtained == "measured":
        width = draw(st.floats(min_value=0, max_value=1))
        return Estimate(
            value,
            obtained,
            low=value * (1 - width),
            high=value * (1 + width),
            samples=draw(st.integers(1, 10**6)),
        )
    return Estimate(value, obtained, source=draw(names))


@st.composite
def link_classes(draw, channel):
    limits = [*sorted(draw(st.sets(st.integers(0, 2**40), max_size=3))), None]
    number = estimates()
    return LinkClass(
        channel=channel,
        protocol=draw(st.sampled_from(["shared-memory", "host-processed", "offloaded"])),
        progress=draw(st.sampled_from(["in-call", "independent"])),
        overlap=draw(st.booleans()),
        eager_limit_bytes=draw(st.none() | number),
        segments=[
            Segment(
                *(draw(number) for _ in range(5)), up_to_bytes=limit, o_receive_s=draw(st.none() | number)
            )
            for limit in limits
        ],
    )


@st.composite
def machines(draw):
    channels = draw(st.sets(names, max_size=3))
    return Machine(
        schema="rankwise.machine/1",
        name=draw(names),
        node=Node(draw(st.integers(1, 10**6)), topology=draw(names)),
        link_classes=[draw(link_classes(channel)) for channel in channels],
        resources=[
            Resource(
                "nic_tx",
                "nic_tx",
                "fifo",
                "node",
                channels=["network"],
                capacity_bytes_per_s=draw(estimates().filter(lambda estimate: estimate.value > 0)),
                per_message_s=draw(estimates()),
            ),
            Resource("core", "core", "sharing", "core", waiting="yield"),
        ],
        notes=draw(st.none() | names),
        context=draw(st.dictionaries(names, names | st.integers(-99, 2**60), max_size=3)),
    )


@given(machines())
def test_a_machine_written_and_read_back_is_the_same(machine):
    assert loads(dumps(machine)) == machine


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_machine_files_are_valid_and_say_where_numbers_come_from(path):
    machine = load(path)
    assert machine.link_class("network") is not None
    assert loads(dumps(machine)) == machine


def test_save_writes_whole_files_and_returns_their_fingerprint(tmp_path):
    path = tmp_path / "a.machine.toml"
    digest = save(load(SHIPPED[0]), path)
    assert digest == fingerprint(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.machine.toml"]


VALID = """schema = "rankwise.machine/1"
name = "x"
[node]
count = 2
topology = "pu:2"
[[link_classes]]
channel = "network"
protocol = "offloaded"
progress = "in-call"
overlap = true
[[link_classes.segments]]
L_s = { value = 1e-6, obtained = "assumed", source = "example" }
o_s = { value = 0, obtained = "assumed", source = "example" }
g_s = { value = 0, obtained = "assumed", source = "example" }
G_s_per_byte = { value = 0, obtained = "assumed", source = "example" }
O_s_per_byte = { value = 0, obtained = "assumed", source = "example" }
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("count = 2", "count = 0", "line 4 key `node.count`"),
        ("count = 2", "count = 2\ncuont = 3", "line 3 key `node`"),
        ('"in-call"', '"sometimes"', "line 9 key `link_classes[0].progress`"),
        ("1e-6", "-1.0", "line 12 key `link_classes[0].segments[0].L_s`"),
        ("1e-6", "nan", "line 12 key `link_classes[0].segments[0].L_s`"),
        (
            '"assumed", source = "example" }\no_s',
            '"measured" }\no_s',
            "a measured number needs `low` and `high`",
        ),
        (
            '"assumed", source = "example" }\no_s',
            '"assumed" }\no_s',
            "a number that is assumed needs its `source`",
        ),
        ("machine/1", "machine/7", "key `schema`"),
        ("L_s = {", "up_to_bytes = 10\nL_s = {", "the last has none"),
        ('topology = "pu:2"', "", "either `topology` or `topology_xml` is needed"),
        ("count = 2", "count = = 2", "line 4"),
    ],
)
def test_what_is_wrong_is_named(old, new, expected):
    loads(VALID)
    with pytest.raises(RankwiseError) as caught:
        loads(VALID.replace(old, new))
    assert expected in caught.value.message
    assert caught.value.hint


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(RankwiseError, match="cannot be read: no such file"):
        load(tmp_path / "none.machine.toml")
