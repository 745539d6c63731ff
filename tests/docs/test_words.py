"""The words of the code and of the pages: idiomatic English, with one name per thing."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        path
        for folder in ("src", "docs", "examples", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".md", ".rst", ".html", ".css", ".js"}
        and "_build" not in path.parts
    ),
]

_EACH = "column|row|class|frequency|feature|landmark|line|core|thread|file|seed|step|round"
_COUNTED = "column|frequency|thread|multiplication|value|number|label|entry|process"
PHRASES = {
    rf"\bone (({_COUNTED}) )?a ({_EACH})\b": "one per column",
    r"\b[Ll]inear machines?\b": "linear model",
    r"\b(ridge|hinge) machines?\b": "ridge regression, squared-hinge classifier",
    r"\bexact machines?\b": "exact kernel method",
    r"\b(is|are) no numbers?\b": "is not a number",
}


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_must_not_come_back(phrase):
    hits = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(phrase.replace(" ", r"\s+"), text):
            line = text.count("\n", 0, match.start()) + 1
            hits.append(f"{path.relative_to(ROOT)}:{line}: {match[0]!r}")
    assert not hits, f"write {PHRASES[phrase]!r}: {hits}"


def test_the_phrases_are_recognised():
    wrong = "one a core, linear\nmachine, hinge machines, exact machine, are no numbers"
    right = "one column per class, a support vector machine, one is a class, not a number"
    for phrase in PHRASES:
        assert re.search(phrase.replace(" ", r"\s+"), wrong), phrase
        assert not re.search(phrase.replace(" ", r"\s+"), right), phrase
