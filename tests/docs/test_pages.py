"""What the pages say is true of the package: their code runs, their commands and links exist."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def commands():
    """Lines of shell blocks that call the program."""
    for path in PAGES:
        for line in "".join(blocks(path, "sh")).splitlines():
            if line.startswith("bochner "):
                yield pytest.param(line, id=f"{path.name}: {line[:50]}")


def anchor(heading):
    """The name of a heading in links, as GitHub makes it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "path", [path for path in PAGES if blocks(path, "python")], ids=lambda path: path.name
)
def test_the_code_of_a_page_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for number, block in enumerate(blocks(path, "python"), start=1):
        exec(compile(block, f"{path.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("line", list(commands()))
def test_commands_have_only_options_that_exist(line):
    typer = pytest.importorskip("typer", reason="the program's packages are not installed")
    from bochner.cli.app import app

    program = typer.main.get_command(app)
    name, *arguments = shlex.split(line, comments=True)[1:]
    # Parses all arguments, and runs nothing.
    program.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_within_the_repository_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text())):
        if "://" in target:
            continue
        file, _, place = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), target
        if place:
            headings = re.findall(r"^#+ (.*)$", without_code(found.read_text()), re.MULTILINE)
            assert place in [anchor(heading) for heading in headings], target


@pytest.mark.parametrize(
    "module",
    [
        "bochner",
        "bochner.data",
        "bochner.engine",
        "bochner.guarantees",
        "bochner.kernels",
        "bochner.linear",
        "bochner.plots",
        "bochner.report",
    ],
)
def test_every_public_name_is_in_the_reference(module):
    try:
        public = importlib.import_module(module).__all__
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    listed = re.findall(r"\w+", (DOCS / "api" / "index.rst").read_text())
    assert set(public) <= set(listed)


def reference_names():
    """Pairs of a module and a name that the reference lists in it."""
    module = ""
    for line in (DOCS / "api" / "index.rst").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_]\w*", line):
            yield module, line.strip()


def test_every_name_in_the_reference_exists():
    missing = []
    for module, name in reference_names():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("bochner"):
                continue  # a package that is not installed
            raise
        if not hasattr(found, name):
            missing.append(f"{module}.{name}")
    assert not missing


def test_every_page_can_be_reached():
    """Each is named in the contents of another, so that the build lists it."""
    contents = [block for path in DOCS.glob("*.md") for block in blocks(path, "{toctree}")]
    named = set(re.findall(r"<(.*)>", "".join(contents)))
    assert {path.stem for path in DOCS.glob("*.md")} - named == {"index"}
