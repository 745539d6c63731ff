"""Results as one HTML file that can be opened, mailed and kept: nothing is fetched.

Its charts are drawn by a script of ours. A Content-Security-Policy in the page forbids the browser
every connection, and every script other than the two of the page, which it knows by their SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bochner.records.files import writing_whole
from bochner.records.wording import counted
from bochner.report.comparison import comparison_view
from bochner.report.numbers import finite, seconds_text, shortened
from bochner.report.section import View
from bochner.report.series import DARK, LIGHT
from bochner.report.study import study_view

if TYPE_CHECKING:
    from jinja2 import Environment

VERSION = 1


# The kinds of documents, each with a template of its name.
VIEWS: dict[str, Callable[[Mapping[str, Any]], View]] = {
    "comparison": comparison_view,
    "study": study_view,
}


def write_page(document: Mapping[str, Any], path: str | Path) -> Path:
    """Write the page of a results document.

    Parameters
    ----------
    document : mapping
        The results of ``bochner compare`` or ``bochner reproduce``: of the kind "comparison" or
        "study", version 1. None and NaN stand for what could not be measured.
    path : str or Path
        The file. Folders on the way to it are made; a file of that name is replaced once the new
        one is complete.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bochner.report import write_page
    >>> study = {"kind": "study", "version": 1, "title": "Nothing yet", "sections": []}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(study, Path(folder) / "page.html")
    ...     "<title>Nothing yet</title>" in page.read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    page = render_page(document).encode()  # no translation of line ends, which hashes would notice
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_whole(path) as file:
        file.write(page)
    return path


def render_page(document: Mapping[str, Any]) -> str:
    """Return the page of a results document as text.

    Parameters are those of :func:`write_page`.

    Examples
    --------
    >>> from bochner.report import render_page
    >>> page = render_page({"kind": "study", "version": 1, "title": "R & D", "sections": []})
    >>> "<h1>R &amp; D</h1>" in page
    True
    """
    kind, version = str(document.get("kind")), document.get("version")
    if kind not in VIEWS:
        raise ValueError(f"kind must be one of {sorted(VIEWS)}, got {kind!r}.")
    if version != VERSION:
        raise ValueError(f"version must be {VERSION}, the only one known here, got {version!r}.")
    view = VIEWS[kind](document)
    environment = _environment()
    script = _source(environment, "page.js")
    library = _source(environment, "charts.js")
    template = environment.get_template(f"{kind}.html")
    return template.render(
        kind=kind,
        view=view,
        title=str(document.get("title") or "bochner"),
        policy=_policy(library, script),
        library=library,
        script=script,
        style=_source(environment, "page.css"),
        light=LIGHT,
        dark=DARK,
        figures=_json({figure.name: figure.spec for figure in view.all_figures}),
        command=str(document.get("command") or ""),
        circumstances=_circumstances(document),
    )


@contextmanager
def needing(package: str) -> Iterator[None]:
    """Say how to install a package if it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the page needs the package {package}: pip install bochner[cli]"
        ) from error


def _environment() -> Environment:
    with needing("jinja2"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    environment = Environment(
        loader=PackageLoader("bochner.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    environment.filters["shortened"] = shortened
    return environment


def _breakable(text: Any) -> str:
    """Allow a line break between the words of a name such as MercerFeatures."""
    from markupsafe import Markup, escape  # comes with jinja2

    return Markup(re.sub(r"([a-z])([A-Z])", r"\1<wbr>\2", str(escape(text))))


def _source(environment: Environment, name: str) -> str:
    """Return a file of the templates folder as it stands."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].replace("\r\n", "\n")


def _policy(*scripts: str) -> str:
    """Allow the browser to run these scripts and show what is in the file, and nothing else."""
    known = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() + "'"
        for s in scripts
    )
    return (
        f"default-src 'none'; script-src {known}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """Return JSON that may stand between script tags."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _circumstances(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return when, how long, on what machine and with which versions it was measured."""
    created = str(document.get("created") or "").replace("T", " ").replace("+00:00", " UTC")
    seconds = document.get("seconds")
    took = "" if seconds is None else seconds_text(seconds)
    cells = finite(cell.get("seconds") for cell in document.get("cells") or ())
    facts = [("measured", created), ("took, this time" if cells else "took", took)]
    if cells:  # some may have been on file, some measured at the same time
        facts.append(("all cells together", seconds_text(sum(cells))))
    machine = dict(document.get("machine") or {})
    cores, device = machine.pop("cores", None), machine.pop("device", None)
    words = [] if cores is None else [counted(cores, "core")]
    words += [] if device is None else [str(device)]
    words += [f"{name} {value}" for name, value in machine.items()]
    facts.append(("machine", ", ".join(words)))
    facts += [(str(name), str(value)) for name, value in (document.get("versions") or {}).items()]
    return [(name, value) for name, value in facts if value]
