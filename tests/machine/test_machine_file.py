# SPDX-License-Identifier: BSD-3-Clause
"""Machine files: what is written is read back, and what is wrong is named by key and line."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.errors import RankwiseError
from rankwise.machine.estimate import Estimate
from rankwise.machine.file import dumps, fingerprint, load, loads, save
from rankwise.machine.machine import LinkClass, Machine, Resource, Segment
from rankwise.machine.nodes import Node

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


def published_size(size):
    return Estimate(float(size), "published", source="example")


@st.composite
def link_classes(draw, channel):
    limits = [*sorted(draw(st.sets(st.integers(0, 2**40), max_size=3))), None]
    number = estimates()
    return LinkClass(
        channel=channel,
        protocol=draw(st.sampled_from(["shared-memory", "host-processed", "offloaded"])),
        progress=draw(st.sampled_from(["in-call", "independent"])),
        overlap=draw(st.booleans()),
        eager_limit_bytes=draw(st.none() | st.integers(0, 2**40).map(published_size)),
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


@settings(deadline=None)
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
        ("count = 2", "count = 2\ncuont = 3", "line 5 key `node.cuont`"),
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
        ("machine/1", "machine/7", "line 1 key `schema`: `rankwise.machine/7` is not `rankwise.machine/1`"),
        ('schema = "rankwise.machine/1"', "", "line 1: `schema` is missing"),
        ('"in-call"', '"sometimes"', "`sometimes` is not `in-call` or `independent`"),
        ('1e-6, obtained = "assumed"', '0, obtained = "told"', "`assumed` or `measured` or `published`"),
        (
            '"pu:2"',
            '"pu:2"\n[network]\nshape = "ring"',
            "line 7 key `network.shape`: `ring` is not `fat-tree` or `torus` or `dragonfly`",
        ),
        ("L_s = {", "up_to_bytes = 10\nL_s = {", "the last has none"),
        ('topology = "pu:2"', "", "either `topology` or `topology_xml` is needed"),
        ("count = 2", "count = = 2", "line 4"),
        ("count = 2", "count = 2\ncount = 3", "line 5 key `count`: is given twice"),
        ("1e-6", "1e300", "line 12 key `link_classes[0].segments[0].L_s`: 1e+300 is more than"),
        (
            VALID[VALID.index("[[link") :],
            2 * VALID[VALID.index("[[link") :],
            "line 18: `link_classes[1].channel`: `network` is described twice",
        ),
    ],
)
def test_what_is_wrong_is_named(old, new, expected):
    loads(VALID)
    with pytest.raises(RankwiseError) as caught:
        loads(VALID.replace(old, new))
    assert expected in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "line 1: the file is empty"),
        (VALID.encode() + b"\n# \xe9\n", f"line {VALID.count(chr(10)) + 2}: byte 0xe9 is not UTF-8"),
        (None, "it is a directory"),
    ],
)
def test_what_is_no_text_is_named_by_line(data, expected, tmp_path):
    path = tmp_path / "bad.machine.toml"
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    with pytest.raises(RankwiseError) as caught:
        load(path)
    assert expected in caught.value.message
    assert "bad.machine.toml" in caught.value.message
    assert caught.value.hint


def test_a_mark_of_byte_order_is_read_over(tmp_path):
    path = tmp_path / "bom.machine.toml"
    path.write_text(VALID, encoding="utf-8-sig")
    assert load(path).name == loads(VALID).name


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(RankwiseError, match="cannot be read: no such file") as caught:
        load(tmp_path / "none.machine.toml")
    assert "rankwise measure" in caught.value.hint


@pytest.mark.parametrize("name", ["lumi-c.machine.toml", "machines/lumi-c.machine.toml"])
def test_where_a_published_machine_is_is_said(name, tmp_path):
    # GIVEN no file of that name here
    with pytest.raises(RankwiseError, match="cannot be read: no such file") as caught:
        load(tmp_path / name)
    # THEN the hint names the one that comes with Rankwise
    (path,) = re.findall("`(.*)`", caught.value.hint)
    assert load(path).name == load(TOP / "machines" / "lumi-c.machine.toml").name


def test_a_name_that_is_too_long_for_a_file_is_an_error_like_others(tmp_path):
    with pytest.raises(RankwiseError, match="cannot be read"):
        load(tmp_path / ("x" * 300))


RESOURCE = '[[resources]]\nname = "r"\nkind = "{}"\ndiscipline = "sharing"\nper = "{}"\n{}\n[[link_classes]]'
SEGMENTS = VALID[VALID.index("[[link_classes.segments]]") :]


@pytest.mark.parametrize(
    ("old", "new", "expected", "hint"),
    [
        ('name = "x"', 'name = "x"\ncuont = 1', "line 3 key `cuont`: there is no key `cuont`", "`count`"),
        ("overlap = true", "overlap = true\neager_limit_bytes = 12288.5", "line 11 key", "obtained ="),
        ("overlap = true", "overlap = true\neager_limit_bytes = 12288", "line 11 key", "obtained ="),
        (
            "overlap = true",
            'overlap = true\neager_limit_bytes = { value = 0.5, obtained = "assumed", source = "x" }',
            "line 11 key `link_classes[0].eager_limit_bytes`: 0.5 bytes: a size is a whole number",
            "for example",
        ),
        ("1e-6", "inf", "line 12 key `link_classes[0].segments[0].L_s`", "0 or more"),
        ("1e-6", "true", "line 12 key `link_classes[0].segments[0].L_s.value`: expected", "every key"),
        ("L_s = {", "up_to_bytes = 12.5\nL_s = {", "line 12 key", "every key"),
        ("L_s = {", f"up_to_bytes = {2**63}\nL_s = {{", "line 12 key", "every key"),
        (
            '"pu:2"',
            '"pu:2"\n[network]\nshape = "torus"\ndimensions = [4, 4]\nnodes_per_router = 2147483647\n'
            f"slots = [0, {2**32}]",
            "key `network.slots[1]`",
            "every key",
        ),
        ("count = 2", "count = 99999999999999999999", "line 4 key `node.count`: expected", "every key"),
        (SEGMENTS, "", "line 6 key `link_classes[0]`: `segments` is missing", "every key"),
        (SEGMENTS, "segments = []\n", "line 11 key `link_classes[0].segments`", "every key"),
        ("pu:2", "core:99999 pu:99999", "line 5 key `node.topology`", "describe one node"),
        ("pu:2", "hello", "line 5 key `node.topology`: `hello` is not", "synthetic"),
        ('topology = "pu:2"', 'topology_xml = "no.xml"', "line 5 key `node.topology_xml`: no", "lstopo"),
        ('"pu:2"', '"pu:2"\nhost_cores = [[0, 1], [0]]', "line 6 key `node.host_cores`: node 1", "core"),
        ('channel = "network"', 'channel = "L9"', "line 7 key `link_classes[0].channel`", "`package`"),
        ("[[link_classes]]", RESOURCE.format("cache", "L7", ""), "line 10 key `resources[0].per`", "`node`"),
        (
            "[[link_classes]]",
            RESOURCE.format("memory", "node", 'channels = ["netwrok"]'),
            "line 11 key `resources[0].channels`: its topology has no channel `netwrok`",
            "`network`",
        ),
        (
            "[[link_classes]]",
            RESOURCE.format("interrupt_core", "node", "core = 77"),
            "line 11 key `resources[0].core`: there is no core 77",
            "0 to 1",
        ),
        ('name = "x"', 'name = "x"\nconfidence = 95.0', "line 3 key `confidence`", "0.95"),
        ("[node]", "[context]\nload = nan\n[node]", "line 4 key `context.load`", "leave"),
    ],
)
def test_what_cannot_be_is_refused_with_key_line_and_a_way_out(old, new, expected, hint, tmp_path):
    path = tmp_path / "bad.machine.toml"
    path.write_text(VALID)
    load(path)
    assert old in VALID
    path.write_text(VALID.replace(old, new, 1))
    with pytest.raises(RankwiseError) as caught:
        load(path)
    assert expected in caught.value.message
    assert hint in caught.value.hint
    assert "bad.machine.toml" in caught.value.message


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_damaged_file_is_refused_in_a_sentence_or_read(data):
    # GIVEN a shipped file whose lines were exchanged, cut, repeated, or filled with something else
    lines = SHIPPED[data.draw(st.integers(0, len(SHIPPED) - 1))].read_text().splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["cut", "drop", "repeat", "number", "text", "key"])):
            case "cut":
                lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
            case "drop":
                del lines[at]
            case "repeat":
                lines.insert(at, lines[at])
            case "number":
                word = data.draw(
                    st.sampled_from(["-1", "nan", "1e400", "2.5", '"x"', "[1]", "{}", "0x7fff", "true"])
                )
                lines[at] = re.sub(r"= *[-\w.\"]+", f"= {word}", lines[at], count=1)
            case "text":
                lines[at] = data.draw(names)
            case "key":
                lines[at] = data.draw(names) + lines[at]
        lines = lines or [""]
    # THEN it is a machine that is written and read back the same, or an error with a hint
    try:
        machine = loads("\n".join(lines), "damaged")
    except RankwiseError as error:
        assert "damaged" in error.message
        assert error.hint
        assert "\n" not in error.message
    else:
        assert loads(dumps(machine)) == machine


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_refused_in_a_sentence(text):
    with pytest.raises(RankwiseError):
        loads(text)


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes_are_refused_in_a_sentence(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.machine.toml"
    path.write_bytes(data)
    with pytest.raises(RankwiseError):
        load(path)


def test_a_pipe_is_no_machine_file_and_no_measurement_is_to_replace_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RankwiseError, match="it is a pipe or a device") as caught:
        load(tmp_path / "pipe")
    assert caught.value.hint == "name a machine file"


@pytest.mark.parametrize("part", ['"x y"', "'x \"y'", r'"x\" y"', "x"])
def test_a_key_of_many_parts_is_refused_however_they_are_written(part):
    with pytest.raises(RankwiseError, match="a key has more than 100 parts"):
        loads(f"a = {{b . {' . '.join([part] * 200)} = 1}}")
