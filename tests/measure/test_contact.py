# SPDX-License-Identifier: BSD-3-Clause
"""What first messages cost becomes `connect_s` of the link classes whose kind of pairs met."""

import polars as pl
import pytest
from test_processor_time import MACHINE

from rankwise.measure.contact import add_contact_times
from rankwise.measure.samples import SCHEMA


def met(channel: str, longer: float) -> list[dict]:
    row = {"test": "peers", "messages": 6, "switches": 0, "rotate_bytes": 0, "launch": 0}
    return [row | {"channel": channel, "setting": k, "value4": longer, "value5": longer} for k in range(1, 8)]


def connect_s(*rows: dict) -> dict:
    samples = pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)
    return {link.channel: link.connect_s for link in add_contact_times(MACHINE, samples).link_classes}


def test_other_nodes_are_the_network_and_the_same_node_all_else():
    found = connect_s(*met("other nodes", 8e-4), *met("same node", 1e-4))
    assert found["network"].value == pytest.approx(4e-4)
    assert found["package"].value == pytest.approx(5e-5)


def test_kinds_of_pairs_that_did_not_meet_have_none_and_no_cost_is_assumed():
    assert connect_s() == {"package": None, "network": None}
    found = connect_s(*met("other nodes", 0.0))
    assert found["package"] is None
    assert (found["network"].value, found["network"].obtained) == (0.0, "assumed")
