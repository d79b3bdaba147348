# SPDX-License-Identifier: BSD-3-Clause
"""What commands write for programs is as the schemas in formats/ say, of whole runs and of parts."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from raw_writer import FINALIZED, MANIFEST, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.machine.file import load
from rankwise.placement import file

REPOSITORY = Path(__file__).resolve().parents[2]
MACHINE = REPOSITORY / "machines" / "bensley-infiniband-2007.machine.toml"


def check(content, name):
    schema = json.loads((REPOSITORY / "formats" / f"{name}.schema.json").read_text())
    jsonschema.validate(content, schema, jsonschema.Draft202012Validator)


def recorded(path, second):
    ranks = [Rank(0, 2, flags=FINALIZED | TRACED), Rank(1, 2, flags=second)]
    ranks[0].send(1, 100)
    ranks[0].event("MPI_Send", 1000, 100, u(0) + z(1) + z(0) + u(100))
    ranks[1].recv(0, 100)
    ranks[1].event("MPI_Recv", 1000, 100, u(0) + z(0) + z(0) + z(0) + z(0) + u(100))
    write_recording(path, ranks)
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"trace": True}))
    return path


@pytest.mark.parametrize("partial", [False, True], ids=["whole", "part"])
def test_documents_fit_their_schemas(tmp_path, capsys, monkeypatch, partial):
    # GIVEN a run that ended, or one of whose ranks did not
    monkeypatch.chdir(tmp_path)
    recording = recorded(tmp_path / "x.rw", TRACED if partial else FINALIZED | TRACED)

    def said(*words):
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    # WHEN commands speak to programs, THEN each document is as its schema says
    check(said("report", recording), "report")
    check(said("report", recording, "--nodes", "1x2", "--node", "package:2 core:2"), "report")
    placed = said("place", recording, "-m", MACHINE, "--budget", "0.1s", "-o", "p.placement.json")
    check(placed, "place")
    check(said("predict", recording, "-m", MACHINE), "prediction")
    check(said("predict", recording, "-m", MACHINE, "--placement", "p.placement.json"), "prediction")
    check(said("predict", recording, "--loggops", "L=1us,o=1us,g=0,G=0.01,O=0,S=0"), "prediction")
    written = json.loads(Path("p.placement.json").read_text())
    check(written, "placement")
    check(json.loads((recording / "recording.json").read_text()), "recording")
    check(msgspec.to_builtins(load(MACHINE)), "machine")
    # AND a placement says that it was searched for a part of a run, also where it is used
    assert ("partial" in written) == partial
    placement = file.load("p.placement.json")
    assert any("the run was cut short" in each for each in placement.partial) == partial
    assert file.loads(file.dumps(placement)).partial == placement.partial
    main(["predict", str(recording), "-m", str(MACHINE), "--placement", "p.placement.json"])
    assert ("was searched for a part of a run" in capsys.readouterr().err) == partial
