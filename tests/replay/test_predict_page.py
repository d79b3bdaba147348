# SPDX-License-Identifier: BSD-3-Clause
"""What docs/predict.md shows is what `rankwise predict` prints."""

from pathlib import Path

from machines import text as machine_text

from rankwise.cli import main


def test_the_example_of_the_documentation_prints_what_it_says(tmp_path, monkeypatch, capsys):
    # GIVEN the program of docs/predict.md, and the machine that it describes
    page = (Path(__file__).resolve().parents[2] / "docs" / "predict.md").read_text()
    example = page.split("checked by hand")[1].split("Both messages are handed over")[0]
    blocks = [line[4:] for line in example.splitlines() if line.startswith("    ")]
    command = next(at for at, line in enumerate(blocks) if line.startswith("$ "))
    monkeypatch.chdir(tmp_path)
    Path("example.goal").write_text("\n".join(blocks[:command]) + "\n")
    network = {"L_s": 10e-6, "o_s": 1e-6, "G_s_per_byte": 0.5e-9}
    Path("two-nodes.machine.toml").write_text(machine_text(network, None, 1e9, nodes=2, name="two nodes"))
    # WHEN its command is run
    words = blocks[command].removeprefix("$ rankwise ").split()
    assert main(words) == 0
    # THEN it prints that, line by line
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert [line.rstrip() for line in blocks[command + 1 :]] == printed[: len(blocks) - command - 1]
