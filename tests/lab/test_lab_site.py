# SPDX-License-Identifier: BSD-3-Clause
"""Labs that cannot be measured are refused before anything is started."""

from types import SimpleNamespace

import pytest

from rankwise.errors import RankwiseError
from rankwise.lab.site import LabSite


def test_a_lab_of_one_core():
    lab = SimpleNamespace(name="tiny", nodes=[SimpleNamespace(cores=[0])])
    with pytest.raises(RankwiseError, match="lab `tiny` has one core") as refused:
        LabSite(lab).prepare()
    assert "lab up --name tiny --nodes 2" in refused.value.hint
