"""Formulas as MathML, which browsers draw themselves: no script, and nothing from the network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

# Commands that the converter of docutils does not know, and what is close enough.
SYNONYMS = {r"\dots": r"\ldots", r"\Big": r"\big"}


def to_mathml(tex: str, *, block: bool = False) -> str:
    """MathML of a formula in TeX; an error where it cannot be converted."""
    for command, known in SYNONYMS.items():
        tex = tex.replace(command, known)
    return str(latex2mathml.tex2mathml(" ".join(tex.split()), as_block=block))


def inline(translator: Any, node: Any) -> None:
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def displayed(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{to_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
