# SPDX-License-Identifier: BSD-3-Clause
"""One word a thing: no name has a word that the list in ARCHITECTURE.md says is not the thing's."""

import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROOMS = ("bindings", "core", "lab", "measure", "python/rankwise", "record", "workloads")
COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

# Names that others gave, and those of collectives, which schedules are made of.
OTHERS = {"add_layout": "Bokeh", "set_layout_engine": "Matplotlib", "recorder_ticks": "formats/recording.h"}
OTHERS |= {"CollectiveStep": "", "StepKind": ""}

# Where a word is still to be replaced, room by room; what has gone is taken off.
LEFT: dict[str, set[str]] = {"step": {"core/schedule"}}


def forbidden() -> dict[str, list[str]]:
    """Of each word that is none, the rooms where it would be a second one for something; all, if none is named."""
    table = (TOP / "ARCHITECTURE.md").read_text().split("| word | what it is | where | not |\n")[1]
    found = {}
    for line in table.split("\n\n")[0].splitlines()[1:]:
        for word, rooms in re.findall(r"`([a-z ]+)`(?: \(([^)]*)\))?", line.split("|")[4]):
            found[word] = re.findall(r"`([^`]+)`", rooms) or list(ROOMS)
    return found


def names(path: Path) -> set[str]:
    text = path.read_text()
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return {token.string for token in tokens if token.type == tokenize.NAME}
    return set(re.findall(r"[A-Za-z_]\w*", COMMENTS_AND_STRINGS.sub(" ", text)))


def words(name: str) -> str:
    """`MessageColumns`, `message_columns_` and `MESSAGE_COLUMNS` are ` message columns `."""
    return f" {' '.join(re.findall(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])', name)).lower()} "


def room_of(path: Path) -> str:
    parts = path.relative_to(TOP).parts
    return "/".join(parts[: {"core": 2, "python": 3}.get(parts[0], 1)])


def used() -> dict[str, dict[str, set[str]]]:
    """Word -> room -> names that have it, with their files, though they should not."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    not_words = forbidden()
    for path in (path for room in ROOMS for path in (TOP / room).rglob("*")):
        if path.suffix not in {".c", ".h", ".cpp", ".hpp", ".py"}:
            continue
        where = path.relative_to(TOP).as_posix()
        own = {
            word for word, rooms in not_words.items() if any(where.startswith(f"{room}/") for room in rooms)
        }
        for name in names(path) - OTHERS.keys():
            spelt = words(name)
            for word in own:
                if f" {word} " in spelt:
                    found[word][room_of(path)].add(f"{name} in {where}")
    return found


def test_things_have_one_word():
    found = used()
    new = {
        f"`{word}`: {sorted(uses)[:5]}"
        for word, rooms in found.items()
        for room, uses in rooms.items()
        if room not in LEFT.get(word, ())
    }
    assert new == set(), "ARCHITECTURE.md has the word"
    gone = {(word, room) for word, rooms in LEFT.items() for room in rooms if room not in found[word]}
    assert gone == set(), "replaced everywhere: take them off LEFT"


def test_the_list_is_read():
    assert forbidden()["layout"] == list(ROOMS)
    assert forbidden()["recorder"] == ["core", "bindings"]


def test_names_are_taken_apart():
    assert (
        words("MessageColumns")
        == words("message_columns_")
        == words("MESSAGE_COLUMNS")
        == " message columns "
    )
    assert words("letGo2") == " let go "
