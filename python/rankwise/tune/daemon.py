# SPDX-License-Identifier: BSD-3-Clause
"""The daemon's configuration, and the plan that it becomes. packaging/tune.toml is an example of all keys."""

from __future__ import annotations

import contextlib
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.machine.toml_file import decode
from rankwise.tune import directories
from rankwise.tune.plan import Plan, this_node
from rankwise.tune.policy import Policy

CONFIG = Path("/etc/rankwise/tune.toml")
# The next start would say the same, so systemd does not restart it (tune/main.cpp, packaging/systemd).
REFUSED_STATUS = 4
_MOST_BYTES = 1 << 20
_DESCRIBED = "packaging/tune.toml describes every key"
_Path = Annotated[str, msgspec.Meta(pattern="^/[^\n\r]*$", description="an absolute path")]


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file.

    Attributes:
        act: Change anything; until this says so, the daemon only says what it would do.
        irq: Interrupts may be moved instead of ranks.
        users: Whose ranks are tuned; empty: everybody's.
        machine: The machine file that costs of messages are taken from.
        pages: Directory in which each user has a directory with his ranks' pages.
        state: Directory for the journal and the lock.
        socket: Where it answers.
        events: File to write events to; without it, they are in the system's log only.
        policy: When it acts.
    """

    act: bool = False
    irq: bool = False
    users: list[Annotated[str, msgspec.Meta(min_length=1, description="a user's name or number")]] = []
    machine: _Path | None = None
    pages: _Path = str(directories.DAEMON_PAGES)
    state: _Path = str(directories.DAEMON_STATE)
    socket: _Path = str(directories.DAEMON_SOCKET)
    events: _Path | None = None
    policy: Policy = Policy()


def prepare(path: str | None, dry_run: bool) -> Path:
    """Read the configuration, make the daemon's directories and write its plan.

    Args:
        path: The file; `None` for the one in /etc if it is there, else defaults.
        dry_run: Do not act, whatever the file says.

    Returns:
        The plan's file.

    Raises:
        RankwiseError: The file is wrong (`REFUSED_STATUS`). Or what may pass: a directory cannot be made, or a user or
            the machine file is not there, which is so early in a boot.
    """
    with _refusing():
        config = read(path)
        socket = directories.check_socket(Path(config.socket))
    users = [_number(user) for user in config.users]
    pus, costs = this_node(config.machine)
    state = directories.own_directory(Path(config.state))
    plan = Plan(
        pus=pus,
        costs=costs,
        state=state,
        socket=socket,
        act=config.act and not dry_run,
        irq=config.irq,
        pages=directories.shared_directory(Path(config.pages)),
        events=Path(config.events) if config.events is not None else None,
        policy=config.policy.fields(),
        daemon=True,
        users=users,
    )
    plan.write(state / "plan")
    return state / "plan"


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """What is wrong here is wrong the next time, too."""
    try:
        yield
    except RankwiseError as error:
        error.status = REFUSED_STATUS
        raise


def read(path: str | None) -> Config:
    """Read a configuration.

    Args:
        path: The file; `None` for the one in /etc, or defaults if there is none.

    Raises:
        RankwiseError: It cannot be read, or is wrong.
    """
    name = str(CONFIG if path is None else path)
    try:
        return loads(regular_files.read_text(name, "utf-8-sig", _MOST_BYTES), name)
    except OSError as error:
        if path is None and isinstance(error, FileNotFoundError):
            return Config()
        raise RankwiseError(
            f"`{name}` cannot be read: {(error.strerror or str(error)).lower()}",
            "name the daemon's file with `--config FILE`; packaging/tune.toml is an example",
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RankwiseError(
            f"`{name}` line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8 text", _DESCRIBED
        ) from None


def loads(text: str, name: str = "tune.toml") -> Config:
    """Read a configuration from TOML text.

    Args:
        text: The text.
        name: Its file's name, for messages.

    Raises:
        RankwiseError: It is no TOML, or a key is wrong; the message names key and line.
    """
    if re.search(r'^schema\s*=\s*"rankwise.machine/', text, re.MULTILINE):
        raise RankwiseError(
            f"`{name}` is a machine file, not the daemon's",
            f'name it in the daemon\'s file: `machine = "{name}"`',
        )
    return decode(text, Config, name, _DESCRIBED)


def _number(user: str) -> int:
    if user.isdecimal() and len(user) < 10:
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise RankwiseError(
            f"there is no user `{user}` on this node", "name users of this node under `users`"
        ) from None
