# SPDX-License-Identifier: BSD-3-Clause
"""The documentation: its site builds, its links lead somewhere, and it names what the program has."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from lab.kept import unpack
from pages import blocks
from pictures.cases import CASES
from pictures.draw import picture, replayed
from raw_writer import write_recording
from traced import ranks_of

from rankwise import cli
from rankwise.cli import main, parsing
from rankwise.findings.catalogue import DEFECTS

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BESIDE = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md", "formats/machine.md"]
KEPT = TOP / "tests" / "lab" / "validated" / "mpich.mg.16.20mbit"
OTHER = KEPT.with_name("mpich.ft.16.20mbit")
PLACED = ["place", "app.rw", "-m", "site.machine.toml", "--budget", "0.2s", "--replays", "0", "-q"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built with warnings as errors: pages missing in the navigation, dead links and anchors are some."""
    built = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", built],
        cwd=TOP,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return built


class _Loaded(HTMLParser):
    """What a page loads by itself, and which elements it has."""

    def __init__(self):
        super().__init__()
        self.addresses, self.classes = [], set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.classes |= set((found.get("class") or "").split())
        if tag != "a":
            self.addresses += [found[key] for key in ("src", "href", "srcset") if found.get(key)]


def test_every_page_is_in_the_site(site):
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")}
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} <= built
    assert {
        "formats/machine.md",
        "formats/goal.md",
        "formats/kernels.md",
        "formats/loggops.md",
        "formats/plain_loggops.md",
    } <= built


def test_the_site_loads_nothing_from_the_network(site):
    for path in site.rglob("*.html"):
        found = _Loaded()
        found.feed(path.read_text())
        assert not [each for each in found.addresses if re.match(r"(https?:)?//", each)], path
        assert "mermaid" not in found.classes, f"{path}: its script would come from the network"
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", path.read_text()), path


@pytest.mark.parametrize("page", [*PAGES, *(TOP / "formats").glob("*.md")], ids=lambda page: page.name)
def test_a_page_can_be_read_at_one_go(page):
    assert len(page.read_text().splitlines()) <= 300


def test_readme_fits_on_a_page():
    assert len((TOP / "README.md").read_text().splitlines()) <= 60


def anchors(page):
    """Names of the headings of a page, as sites of code and mkdocs make them."""
    plain = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("name", BESIDE)
def test_links_beside_the_site_lead_somewhere(name):
    page = TOP / name
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_pages_that_the_program_names_are_there():
    sources = [
        path for room in ("python", "core", "formats", "bench", "tests") for path in (TOP / room).rglob("*.*")
    ]
    named = set()
    for path in sources:
        if path.suffix in {".py", ".cpp", ".hpp", ".h", ".c", ".md"}:
            named |= set(re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text()))
    assert [name for name in sorted(named) if not (TOP / name).exists()] == []


def test_rules_that_sources_name_are_on_the_pages_of_the_models():
    # GIVEN the rules that comments and pages name, such as M9
    named = set()
    for path in (
        path for room in ("core", "python", "tests", "formats", "docs") for path in (TOP / room).rglob("*")
    ):
        if path.suffix in {".py", ".cpp", ".hpp", ".md"}:
            named |= set(re.findall(r"loggops\.md,? ([MP]\d+)\b|\b([MP]\d+) of formats/", path.read_text()))
    rules = {rule for pair in named for rule in pair if rule}
    assert len(rules) > 5
    # THEN each has a heading of its own
    said = "".join((TOP / "formats" / name).read_text() for name in ("loggops.md", "plain_loggops.md"))
    assert rules <= set(re.findall(r"^### ([MP]\d+) ", said, re.MULTILINE))


def tags():
    """Tags of all warnings, by file."""
    for path in sorted((TOP / "python" / "rankwise").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                called = ast.unparse(node.func)
                if called == "Doubt" or called.endswith("terminal.warning"):
                    yield path.name, node.args[1].value


def warnings_of_the_page():
    """Tags in the table of warnings, each with the commands that say it."""
    section = (DOCS / "troubleshooting.md").read_text().split("## Warnings\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `([a-z-]+)` \| ([a-z, ]+) \|", section, re.MULTILINE))


def test_each_warning_is_on_the_page_on_troubleshooting_and_no_other():
    found = {tag for _, tag in tags()}
    assert len(found) > 20
    assert warnings_of_the_page().keys() == found


def test_each_warning_of_a_measurement_is_said_to_be_one():
    found = {tag for name, tag in tags() if name in ("measure_end.py", "tiling.py")}
    assert found == {tag for tag, commands in warnings_of_the_page().items() if "measure" in commands}


def nodes(*rooms):
    """The syntax of all sources of Python below these directories of the package, node by node."""
    for path in (
        path for room in rooms for path in sorted((TOP / "python" / "rankwise" / room).rglob("*.py"))
    ):
        yield from ast.walk(ast.parse(path.read_text()))


def statuses():
    """Exit statuses in the sources: constants called so, of errors, and of processes that end themselves."""
    for node in nodes("."):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(status))):
                if re.search(r"STATUS|UNFINISHED", name) and not isinstance(status, bool):
                    yield status
            case ast.keyword(arg="status", value=ast.Constant(value=int(status))):
                yield status
            case ast.Call(func=ast.Attribute(attr="exit" | "_exit"), args=[ast.Constant(value=int(status))]):
                yield status


def test_each_exit_status_is_on_the_page_on_troubleshooting():
    page = (DOCS / "troubleshooting.md").read_text().split("## Warnings")[0]
    said = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert said == {0, *statuses()}


def column(page, heading):
    """What stands in the first column of the first table behind a heading, between backticks."""
    section = (DOCS / page).read_text().split(f"# {heading}\n", 1)[1].split("\n## ", 1)[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)}


def named_by(*called):
    """What calls of these functions in `rankwise doctor` have as their first argument."""
    calls = (node for node in nodes("doctor") if isinstance(node, ast.Call) and node.args)
    first = (node.args[0] for node in calls if ast.unparse(node.func) in called)
    return {each.value for each in first if isinstance(each, ast.Constant)}


def test_each_check_and_each_surprise_of_doctor_is_on_its_page():
    checks, surprises = named_by("Check", "_tried"), named_by("Surprise")
    assert len(checks) > 10 and len(surprises) > 10
    assert column("doctor.md", "This machine") == checks
    # Nodes that differ have their tags from a list.
    of_nodes = {"nodes", "libraries", "interfaces"}
    assert column("doctor.md", "What is called wrong or surprising") == surprises | of_nodes


@pytest.mark.parametrize("name", ["find-your-problem.md", "read-a-report.md"])
def test_each_finding_has_its_place(name):
    page = (DOCS / name).read_text()
    assert not [each.NAME for each in DEFECTS if f"`{each.NAME}`" not in page]


TUNED = {"ranks": [0, 1], "group": "g", "unix_s": 0.0, "estimated_gain": 0.25, "why": "it gains"}
TUNED |= {"change": {"moves": [{"pid": 1, "start": 2, "from": "0", "to": "1"}]}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A directory with a file of each format that the page on formats asks."""
    from rankwise.measure import samples

    directory = tmp_path_factory.mktemp("formats")
    shutil.copy(f"{KEPT}.machine.toml", directory / "site.machine.toml")
    shutil.copy(TOP / "machines" / "dahu.kernels.toml", directory / "cluster.kernels.toml")
    shutil.copy(DOCS / "accuracy.json.gz", directory)
    for name, of in (("app.rw", KEPT), ("before.rw", KEPT), ("after.rw", OTHER)):
        unpack(Path(f"{of}.rw.tar.xz"), directory / name)
    launch = samples.Launch(context={"date": 1}, channels={0: "network"})
    for number in range(30):
        launch.take(f"@rankwise sample 0 pingpong 1 0 1 {number} 10 0 -1 0 1 1 2 3 4 5 0 0 0")
    samples.save(samples.concatenate([launch]), directory / "site.samples.parquet")
    (directory / "app.tune").mkdir()
    steps = [TUNED | {"what": what, "monotonic_s": at} for at, what in enumerate(("proposed", "kept"))]
    (directory / "app.tune" / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in steps))
    here = Path.cwd()
    os.chdir(directory)
    try:
        assert main(PLACED) == 0
        for ranks in ("8", "16"):
            words = ["workloads", "cg", "--trace", "--class", "S", "--ranks", ranks, "-o", f"app.{ranks}.rw"]
            assert main([*words, "-q"]) == 0
    finally:
        os.chdir(here)
    return directory


def queries(language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / "formats.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("query", queries("python"))
def test_queries_in_python_run(query, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    exec(query, {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("query", queries("sql"))
def test_queries_in_sql_find_what_those_in_python_do(query, files, monkeypatch):
    monkeypatch.chdir(files)
    found = pl.sql(query).collect()
    messages = pl.read_parquet("app.rw/tables/messages.parquet")
    pairs = messages.group_by("source", "destination").agg(pl.sum("bytes"), pl.sum("messages"))
    assert found["bytes"].to_list() == pairs["bytes"].sort(descending=True).head(len(found)).to_list()


@pytest.mark.one_of(2)
@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq: `apt-get install jq`")
@pytest.mark.parametrize("block", [block for block in queries("console") if "jq" in block])
def test_queries_with_jq_find_something(block, files):
    # GIVEN the files of the page, and the commands where they are installed
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        # WHEN a line is typed
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=files,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        # THEN it works, and each filter finds values
        assert done.returncode in (0, "doctor" in line), line + done.stderr
        found = re.sub(r'"\w+":|null', "", done.stdout)
        assert "jq" not in line or re.search(r"\w", found), line


@pytest.mark.parametrize(
    "query", re.findall(r"```python\n(.*?)```", (DOCS / "exports.md").read_text(), re.DOTALL)
)
def test_queries_of_the_page_on_exports_run(query, tmp_path, monkeypatch, capsys):
    # GIVEN a recording with exact times
    ranks = ranks_of(2)
    ranks[0].send(1, 8)
    ranks[0].count("MPI_Send", ns=100)
    ranks[1].recv(0, 8)
    write_recording(tmp_path / "app.rw", ranks)
    monkeypatch.chdir(tmp_path)
    for name in ("perfetto", "csv"):
        assert main(["export", "app.rw", "--format", name, "-q"]) == 0
    exec(query, {})
    assert capsys.readouterr().out.strip()


def commands(page):
    """The command lines of Rankwise in a page, without `rankwise` and what the shell does with their output."""
    for _, lines in blocks(page.read_text()):
        for line in lines:
            if found := re.match(r"(?:\$ )?rankwise (.*)", line):
                words = shlex.split(re.sub(r"\$\(.*?\)", "1", found[1]), comments=True)
                ends = (at for at, word in enumerate(words) if word in ("|", "&&", ">") or word.endswith(";"))
                yield words[: next(ends, len(words))]


@pytest.mark.parametrize(
    "page", [TOP / "README.md", *PAGES], ids=lambda page: page.relative_to(TOP).as_posix()
)
def test_commands_of_a_page_can_be_typed(page):
    for words in commands(page):
        assert parsing.parse(parsing.build_parser(cli.COMMANDS), words) is not None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pictures_are_what_replays_of_their_programs_give(case):
    # GIVEN a program with a problem, and without it WHEN both are replayed
    problem, better = (replayed(panel) for panel in case.panels)
    # THEN the problem costs time, what is drawn says it, and the page shows it in words too
    assert better.end < 0.95 * problem.end
    drawn = picture(case)
    assert (DOCS / "images" / f"{case.name}.svg").read_text() == drawn, "`make pictures` draws it anew"
    alternative = re.search(
        rf"!\[(.+?)\]\(images/{case.name}\.svg\)", (DOCS / "find-your-problem.md").read_text()
    )
    assert alternative and len(alternative[1]) > 40


def test_every_picture_has_words_in_its_place():
    for page in PAGES:
        for words, _ in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text()):
            assert words, page
