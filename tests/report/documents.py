"""Results documents to draw pages of, made up but of the shape the program writes."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

OURS = (
    "MarginFourierFeatures",
    "PosteriorFourierFeatures",
    "PosteriorFourierFeatures, chi2",
    "LandmarkSimilarities",
    "MercerFeatures",
    "FourierFeatures",
)
BASELINES = ("RBFSampler", "Nystroem")
EXACT = "exact kernel method"
STATEMENT = (
    "With probability 0.95 over the training rows, the alignment loss of the learned kernel on "
    "new pairs is at most this; 0.5 is a kernel that knows nothing. It holds for independent "
    "rows and candidates drawn without looking at them."
)
ATTACK = "</script><script>window.attacked=1</script><img src=x onerror=window.attacked=1>\"'&"


def common(title: str, command: str) -> dict[str, Any]:
    return {
        "version": 1,
        "title": title,
        "command": command,
        "created": "2025-03-04T10:20:30+00:00",
        "seconds": 48.2,
        "versions": {
            "python": "3.12.4",
            "bochner": "0.1.0",
            "numpy": "2.2.0",
            "scikit-learn": "1.9.0",
        },
        "machine": {"cores": 2, "device": "cpu"},
    }


def comparison(
    ours: tuple[str, ...] = OURS,
    baselines: tuple[str, ...] = BASELINES,
    widths: tuple[int, ...] = (32, 128, 512),
    seeds: int = 3,
    regression: bool = False,
    exact: bool = True,
) -> dict[str, Any]:
    """Methods that get better with width, at a cost."""
    rng = np.random.default_rng(0)
    scale = 0.01 if regression else 1.0
    summaries: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    settings: list[tuple[str, int | None]] = [(m, w) for m in ours + baselines for w in widths]
    settings += [(EXACT, None)] * exact
    for method, width in settings:
        if width is None:
            mean, fit, transform = 98.1, 0.9, 0.4
        else:
            rank = (ours + baselines).index(method)
            mean = 98.5 - (9 + 2 * rank) * (32 / width) ** 0.6 - 0.15 * rank
            fit, transform = 1e-3 * width * 2.0 ** (3 - rank), 2e-5 * width * (1 + rank % 3)
        scores = scale * (mean + 0.5 * rng.normal(size=seeds))
        learned = method in ours[:3]
        chosen = {"gamma": 0.0173, "C": 10.0} | ({"beta": 30} if learned else {})
        guarantee = None
        if learned and width is not None:
            value = 0.36 + 1 / width
            guarantee = {"name": "PAC-Bayes-kl", "value": value, "statement": STATEMENT}
        certificate = None
        if not regression:
            wrong = 3 + len(summaries)
            certificate = {
                "name": "error rate",
                "value": 0.03 + 0.01 * len(summaries) if width else 1.0,
                "uninformative": 1.0,
                "statement": f"With probability 0.95 it is at most this: {wrong} errors on 449.",
            }
        error = float(scores.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else None
        summaries.append(
            {
                "method": method,
                "width": width,
                "score": float(scores.mean()),
                "standard_error": error,
                "seeds": seeds,
                "fit": fit,
                "transform": transform,
                "baseline": method in baselines or width is None,
                "guarantee": guarantee,
                "certificate": certificate,
                "chosen": chosen,
            }
        )
        cells += [
            {
                "method": method,
                "width": width,
                "seed": seed,
                "score": float(score),
                "fit": fit,
                "transform": transform,
                "seconds": 3 * (fit + transform),
                "chosen": chosen,
                "guarantee": guarantee,
            }
            for seed, score in enumerate(scores)
        ]
    return common("digits", "bochner compare digits --widths 32,128,512 --seeds 3") | {
        "kind": "comparison",
        "data": {
            "name": "digits",
            "rows": 1797,
            "columns": 64,
            "task": "regression" if regression else "classification",
            "classes": None if regression else list(range(10)),
            "target": "price" if regression else "digit",
            "notes": ["Three rows without a target were dropped.", "Columns were standardised."],
        },
        "measure": {
            "name": "R2" if regression else "accuracy",
            "unit": "" if regression else "%",
            "higher_is_better": True,
        },
        "summaries": summaries,
        "cells": cells,
        "recommendation": {
            "sentence": f"Use {ours[0]} with {widths[-1]} columns.",
            "reason": "It is the narrowest map within one standard error of the best, and four "
            "times as fast as the exact kernel method.",
            "method": ours[0],
            "width": widths[-1],
        },
        "left_out": ["MarginHarmonicFeatures with 512 columns would take a search for each"],
        "interrupted": False,
        "pictures": {},
    }


def wide() -> dict[str, Any]:
    """As much in the table of results as the program may put there."""
    document = comparison()
    document["measure"]["name"] = "balanced accuracy"
    document["summaries"][0]["seeds"] = 2  # interrupted
    settings = {"dual_update": "corrective", "band": 12.0, "damping": 0.3}
    for summary in document["summaries"]:
        summary["chosen"] = {"gamma": 0.01730, **settings, "n_candidates": 3333.0, "C": 0.001}
        summary["certificate"]["name"] = "balanced error"
        if summary["method"] == "MercerFeatures":
            summary["guarantee"] = {"name": "kernel residual", "value": 0.5, "statement": "It is."}
    return document


def metric() -> dict[str, Any]:
    """What a metric says of two columns."""
    return {
        "mode": "full",
        "columns": 2,
        "importances": [["width", 0.75], ["height", 0.25]],
        "directions": [[["width", 0.9], ["height", -0.436]], [["height", 0.9], ["width", 0.436]]],
    }


def plane(regression: bool = False, n: int = 60) -> dict[str, Any]:
    """A windmill in the plane, with decisions and a potential."""
    rng = np.random.default_rng(1)
    document = comparison(regression=regression) | {"metric": metric()}
    axis = np.linspace(-3, 3, n)
    first, second = np.meshgrid(axis, axis)
    angle, radius = np.arctan2(second, first), np.hypot(first, second)
    decisions = []
    for i, method in enumerate((*OURS, *BASELINES)):
        value = np.sin(4 * angle + (1.5 - 0.12 * i) * radius)
        values = value if regression else (value > 0).astype(int)
        decisions.append(
            {
                "method": method,
                "width": 128,
                "values": values.tolist(),
                "classes": None if regression else ["left", "right"],
            }
        )
    points = rng.normal(size=(250, 2))
    truth = np.sin(4 * np.arctan2(points[:, 1], points[:, 0]) + 1.5 * np.hypot(*points.T))
    labels = truth.tolist() if regression else [("left", "right")[int(t > 0)] for t in truth]
    frequency = np.linspace(-6, 6, n)
    potential = sum(
        np.exp(-((frequency[:, None] - b) ** 2) - (frequency - a) ** 2)
        for a, b in ((2, 3), (-2, -3), (3, -2), (-3, 2))
    )
    document["title"] = "Windmill"
    document["data"] |= {"name": "windmill", "rows": 250, "columns": 2, "target": "side"}
    if not regression:
        document["data"]["classes"] = ["left", "right"]
    document["pictures"] = {
        "plane": {
            "x": axis.tolist(),
            "y": axis.tolist(),
            "names": ["east", "north"],
            "points": {"x": points[:, 0].tolist(), "y": points[:, 1].tolist(), "label": labels},
            "decisions": decisions,
            "potential": {
                "frequency_x": frequency.tolist(),
                "frequency_y": frequency.tolist(),
                "values": np.asarray(potential).tolist(),
                "chosen": {"x": [2.05, -3.0, 3.1], "y": [2.9, 2.1, -1.9]},
            },
        },
        "patches": [
            {
                "method": "MercerFeatures",
                "caption": "The 24 patches with the largest weight.",
                "images": rng.uniform(size=(24, 5, 5)).tolist(),
            }
        ],
    }
    return document


def picture() -> str:
    """A PNG of one white pixel."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff")),
        (b"IEND", b""),
    ]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in parts
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()


def claim(text: str, checked: int, *exceptions: str) -> dict[str, Any]:
    """A claim that fails at these places."""
    return {"text": text, "checked": checked, "noise": [], "exceptions": list(exceptions)}


def study() -> dict[str, Any]:
    """A study with published numbers beside ours."""
    widths = [16, 32, 64, 128, 256, 512]
    series = []
    for i, name in enumerate(("RFF", "ORF", "learned")):
        y = [100 - (20 - 4 * i) * (16 / w) ** 0.5 for w in widths]
        errors = [0.4] * len(widths)
        series.append({"name": name, "x": widths, "y": y, "error": errors, "published": False})
        published = [value - 0.8 for value in y[1:]]
        series.append(
            {
                "name": f"{name} (published)",
                "subject": name,
                "x": widths[1:],
                "y": published,
                "error": None,
                "published": True,
            }
        )
    decay = [
        {"name": name, "x": list(range(1, 60)), "y": [10.0 ** (-k / s) for k in range(1, 60)]}
        for name, s in (("RFF", 30), ("learned", 6))
    ]
    table = {
        "columns": ["data", "ours", "published", "difference", "seconds"],
        "rows": [
            ["ads", {"text": "97.1 ± 0.2", "number": 97.1}, 96.8, 0.3, 12.1],
            ["adult", {"text": "85.0 ± 0.1", "number": 85.0}, 85.2, -0.2, 110.0],
            ["mnist17", {"text": "99.4 ± 0.1", "number": 99.4}, None, None, 31.0],
        ],
    }
    return common("Table 1 and Figure 2", "bochner reproduce letarte-table-1 --quick") | {
        "kind": "study",
        "paper": "Letarte, Morvant and Germain (2019), Pseudo-Bayesian learning with kernel "
        "Fourier transform as prior",
        "notes": ["Quick version: 3 seeds, at most 2000 rows."],
        "sections": [
            {
                "heading": "Table 1",
                "lines": [
                    "Accuracy in per cent on the test rows.",
                    "Ours: means over three seeds.",
                ],
                "claims": [
                    claim("ours is as good", 3),
                    claim("it is faster", 3, "ads", "adult"),
                ],
                "table": table,
                "chart": None,
                "image": None,
            },
            {
                "heading": "Figure 2: accuracy against width",
                "lines": [],
                "table": None,
                "chart": {
                    "x_title": "number of features D",
                    "y_title": "accuracy, %",
                    "log_x": True,
                    "log_y": False,
                    "series": series,
                },
                "image": None,
            },
            {
                "heading": "Figure 3: eigenvalues",
                "lines": ["They fall by orders of magnitude."],
                "table": None,
                "chart": {
                    "x_title": "index",
                    "y_title": "eigenvalue",
                    "log_x": False,
                    "log_y": True,
                    "series": decay,
                },
                "image": None,
            },
            {
                "heading": "Figure 4: a picture",
                "lines": ["Drawn with Matplotlib."],
                "table": None,
                "chart": None,
                "image": picture(),
            },
        ],
    }


def close() -> dict[str, Any]:
    """A study with one chart, of large numbers that are close together."""
    chart = {
        "x_title": "width",
        "y_title": "mean squared error",
        "log_x": True,
        "log_y": True,
        "series": [{"name": "RFF", "x": [32, 128], "y": [4683535414.5, 4234846976.6]}],
    }
    return study() | {"sections": [{"heading": "cadata", "chart": chart}]}


def hostile() -> dict[str, Any]:
    """Every string that a user can set tries to break out of its place."""
    document = plane()
    document |= {"title": ATTACK, "command": ATTACK, "left_out": [ATTACK]}
    document["data"] |= {"name": ATTACK, "target": ATTACK, "notes": [ATTACK], "classes": [ATTACK]}
    document["measure"]["name"] = ATTACK
    document["recommendation"] |= {"sentence": ATTACK, "reason": ATTACK}
    document["versions"] = {ATTACK: ATTACK}
    for summary in document["summaries"][:3]:
        summary["method"] = ATTACK
        summary["guarantee"] = {"name": ATTACK, "value": 0.1, "statement": ATTACK}
        summary["chosen"] = {ATTACK: ATTACK}
    document["metric"]["importances"][0][0] = ATTACK
    document["metric"]["directions"][0][0][0] = ATTACK
    picture_plane = document["pictures"]["plane"]
    picture_plane["names"] = [ATTACK, ATTACK]
    picture_plane["decisions"][0] |= {"method": ATTACK, "classes": [ATTACK, "right"]}
    document["pictures"]["patches"][0] |= {"method": ATTACK, "caption": ATTACK}
    return document
