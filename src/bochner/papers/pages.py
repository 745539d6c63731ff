"""The pages of results in the documentation, written from results of studies: nothing is typed.

A study's document is stored as a small file beside the pages. The pages are made from all files
that are there, so that the same files always give the same pages. The measured cells are kept
there too, so that a study that takes hours can be measured in parts, on several machines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bochner.papers.bullins.common import PAPER as BULLINS
from bochner.papers.letarte.common import PAPER as LETARTE
from bochner.papers.mukuta.feature_maps import PAPER as MUKUTA
from bochner.papers.registry import STUDIES
from bochner.records.files import writing_whole
from bochner.records.sections import Claim

FOLDER = "results"  # of the stored documents, beside the pages
COMMAND = "bochner reproduce --write-docs docs"
_KEPT = (
    "title", "study", "command", "commit", "created", "seconds", "complete", "measured_on",
)  # fmt: skip


@dataclass(frozen=True)
class Paper:
    """The text of a page about a paper, apart from its results."""

    name: str  # of its page
    authors: str
    citation: str
    methods: str


PAPERS: dict[str, Paper] = {
    LETARTE: Paper(
        "letarte",
        "Letarte, Morvant and Germain 2019",
        "*Pseudo-Bayesian learning with kernel Fourier transform as prior*, AISTATS 2019",
        "[posterior](posterior.md), [landmarks](landmarks.md)",
    ),
    BULLINS: Paper(
        "bullins",
        "Bullins, Zhang and Zhang 2018",
        "*Not-so-random features*, ICLR 2018",
        "[margin](margin.md), [sphere](sphere.md)",
    ),
    MUKUTA: Paper(
        "mukuta",
        "Mukuta and Harada 2016",
        "*Kernel approximation via empirical orthogonal decomposition for unsupervised feature"
        " learning*, CVPR 2016",
        "[Mercer](mercer.md), [networks](images.md)",
    ),
}
_HOW_TO_READ = """\
- ± is the standard error of the mean over seeds or splits. If all seeds share the same test rows,
  it does not include the noise of these rows.
- Penalties, bandwidths and strengths are chosen on held-out training rows, never on test rows.
- "Not confirmed" means that our measurement does not show the claim, not that the claim is false:
  data, splits and details that the paper leaves open differ. "By no more than noise" is a
  difference of at most two standard errors.
- "So far" means that only a part of the study was measured; its notes say what is missing.
- Times are sums over all cells, each measured by a single process."""


def store(document: Mapping[str, Any], folder: Path) -> Path:
    """Store the parts of a study's document that pages need, with the pages in `folder`."""
    sections = [
        {"heading": section["heading"]}
        | {name: section[name] for name in ("lines", "claims") if section[name]}
        | ({"table": _texts(section["table"])} if section["table"] else {})
        for section in document["sections"]
    ]
    kept = {name: document[name] for name in _KEPT} | {
        "notes": [*document["notes"], *_failures(document["failures"])],
        "sections": [section for section in sections if len(section) > 1],
    }
    path = folder / FOLDER / f"{document['study']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_whole(path) as file:
        file.write(json.dumps(kept, indent=0, ensure_ascii=False).encode() + b"\n")
    return path


def cells_on_record(study: str, folder: Path) -> Path:
    """Return the file of a study's finished cells, stored with the pages in `folder`."""
    return folder / FOLDER / "cells" / f"{study}.jsonl"


def write_pages(folder: Path) -> list[str]:
    """Write all pages of results from the stored documents; return the names of the files."""
    stored = read_stored(folder)
    pages = {"results.md": overview(stored)}
    pages |= {f"results-{paper.name}.md": paper_page(key, stored) for key, paper in PAPERS.items()}
    for name, text in pages.items():
        with writing_whole(folder / name) as file:
            file.write(text.encode())
    return list(pages)


def read_stored(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the stored documents by study, in the order of the registry."""
    files = {name: folder / FOLDER / f"{name}.json" for name in STUDIES}
    return {n: json.loads(file.read_text()) for n, file in files.items() if file.exists()}


def overview(stored: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page that leads to those of the papers."""
    rows = [("paper", "methods", "studies on record", "claims checked", "not confirmed")]
    for key, paper in PAPERS.items():
        studies = [name for name, study in STUDIES.items() if study.paper == key]
        claims = [claim for name in studies if name in stored for claim in _claims(stored[name])]
        failed = sum(claim["verdict"] == "not confirmed" for claim in claims)
        link = f"[{paper.authors}](results-{paper.name}.md)"
        done = sum(name in stored for name in studies)
        counts = (f"{done} of {len(studies)}", str(len(claims)), str(failed))
        rows.append((link, paper.methods, *counts))
    contents = [f"{p.authors} <results-{p.name}>" for p in PAPERS.values()]
    lines = "\n".join([*contents, "Errata <errata>"])
    return f"""# The papers, reproduced

The tables and figures of three papers, measured with this package, next to the published numbers.

{_table(rows)}

Errors in the papers themselves are [collected here](errata.md).

## Reproduce them yourself

```sh
bochner reproduce --list                    # all studies, the data they need, how long they take
bochner reproduce letarte-figure1           # needs no data files
bochner reproduce bullins-table1 --quick    # a small version
{COMMAND}         # these pages, from the results on record
```

See [the program](program.md#reproduce) for where the data come from. A small version of a study
is too small to decide most claims of a paper; its results say so. With the name of a study,
`--write-docs` puts its results on record.

## How to read the numbers

{_HOW_TO_READ}

```{{toctree}}
:hidden:

{lines}
```
"""


def paper_page(paper: str, stored: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page of a paper, with everything on record of its studies."""
    about = PAPERS[paper]
    studies = {name: study for name, study in STUDIES.items() if study.paper == paper}
    done = {name: stored[name] for name in studies if name in stored}
    missing = [f"`{name}`" for name in _missing(paper, stored)]
    parts = [
        f"# {about.authors}, reproduced",
        f"{about.citation}. Methods: {about.methods}. This page is written by `{COMMAND}` from the"
        f" results on record; no number on it is typed. [How to read"
        " it](results.md#how-to-read-the-numbers).",
    ]
    if missing:
        parts.append(f"Not on record yet: {', '.join(missing)}.")
    if any(_claims(document) for document in done.values()):
        rows = [("study", "claim", "verdict")]
        for document in done.values():
            rows += _claim_rows(document)
        parts += ["## What is confirmed", _table(rows)]
    for document in done.values():
        parts += _study(document)
    return "\n\n".join(parts) + "\n"


def _missing(paper: str, stored: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the studies of a paper that have nothing on record."""
    return [n for n, study in STUDIES.items() if study.paper == paper and n not in stored]


def _study(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {document['title']}"
    yield f"    {document['command']}"
    minutes = document["seconds"] / 60
    facts = [
        f"commit {document['commit'] or 'unknown'}",
        document["created"][:10],
        document["measured_on"],
        f"{minutes:.0f} min" if minutes >= 1 else f"{document['seconds']:.0f} s",
    ]
    yield "; ".join(fact for fact in facts if fact) + "."
    yield from document["notes"]
    for section in document["sections"]:
        yield f"### {section['heading']}"
        if "table" in section:
            yield _table([section["table"]["columns"], *section["table"]["rows"]])
        yield from section.get("lines", ())
        for claim in section.get("claims", ()):
            yield f"**{_verdict(claim, document)}**: {_statement(claim)}."


def _claims(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [claim for section in document["sections"] for claim in section.get("claims", ())]


def _claim_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield study, claim and verdict; several tables of claims are named as well."""
    item, _, _ = document["title"].partition(":")
    tables = [section for section in document["sections"] if section.get("claims")]
    for section in tables:
        where = f"{item}, {section['heading']}" if len(tables) > 1 else item
        for claim in section["claims"]:
            yield where, _statement(claim), _verdict(claim, document)


def _verdict(claim: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Return the verdict, marked as preliminary if only a part of the study was measured."""
    return str(claim["verdict"]) + ("" if document["complete"] else ", so far")


def _statement(claim: Mapping[str, Any]) -> str:
    """Return the claim, how many places it holds at, and the numbers where it does not."""
    return Claim(claim["text"], claim["checked"], claim["noise"], claim["exceptions"]).statement


def _texts(table: Mapping[str, Any]) -> dict[str, Any]:
    rows = [[e["text"] if isinstance(e, dict) else e for e in row] for row in table["rows"]]
    return {"columns": table["columns"], "rows": rows}


def _failures(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"Failed: {failure['cell']}: {failure['reason']}" for failure in failures]


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column to the left, numbers to the right."""
    titles, *body = ([text.replace("|", "\\|") for text in row] for row in rows)
    numeric = [
        all(text[:1] in "0123456789-+" for text in column) for column in zip(*body, strict=True)
    ]
    bars = ["---:" if right and k else "---" for k, right in enumerate(numeric)]
    lines = (titles, bars, *body)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
