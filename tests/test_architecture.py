"""The rules of the architecture: which package may import which, and who may recognise a name.

Every rule is a function from the modules of a tree to its violations. It is applied to the source,
and to a tree made up to break it.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import bochner
from bochner.data.formats import FORMATS
from bochner.kernels import KERNELS
from bochner.models.methods import METHODS
from bochner.papers.registry import STUDIES

SOURCE = Path(bochner.__file__).parent

# From the bottom up; a module may import from its own layer and from those before it.
LAYERS = [
    ("engine", "records", "lazy"),
    ("linear", "kernels", "targets", "weights"),
    ("base", "fourier", "margin", "mercer", "nystroem", "metric", "images", "guarantees"),
    ("data", "models", "plots"),
    ("compare", "papers", "report"),
    ("cli",),
    ("__main__",),
]
# Within one layer: what an import would turn upside down all the same.
APART = {("data", "models"), ("report", "compare"), ("report", "papers")}


@dataclass(frozen=True)
class Module:
    """A module by its full name, with the modules of its tree for what its imports mean."""

    name: str
    tree: ast.Module
    names: frozenset[str]

    @property
    def path(self) -> str:
        return self.name.removeprefix("bochner.").replace(".", "/")

    @property
    def room(self) -> str:
        return self.name.split(".")[1] if "." in self.name else ""

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @functools.cached_property
    def imports(self) -> list[Import]:
        return list(imports_of(self))


@dataclass(frozen=True)
class Import:
    """A module that is imported, a name out of it (None: all of it), and what it is bound to."""

    module: str
    name: str | None
    bound: str
    for_types: bool


def modules_of(sources: dict[str, str]) -> list[Module]:
    names = frozenset(sources)
    return [Module(name, ast.parse(text), names) for name, text in sources.items()]


@functools.cache
def read_source() -> list[Module]:
    sources = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        sources[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return modules_of(sources)


def imports_of(module: Module) -> Iterator[Import]:
    """Imports of our own modules, wherever they are written: also within functions."""
    for_types = {
        node
        for block in module.nodes
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for line in block.body
        for node in ast.walk(line)
    }
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                if alias.name.partition(".")[0] == "bochner":
                    yield Import(alias.name, None, bound, node in for_types)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.path} has a relative import"
            if (node.module or "").partition(".")[0] != "bochner":
                continue
            for alias in node.names:
                bound, inner = alias.asname or alias.name, f"{node.module}.{alias.name}"
                if inner in module.names:
                    yield Import(inner, None, bound, node in for_types)
                else:
                    yield Import(str(node.module), alias.name, bound, node in for_types)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and str(argument.value).startswith(
                    "bochner"
                ):
                    yield Import(str(argument.value), None, "", node in for_types)


# ------------------------------------------------------------------------------ the rules


def layer(room: str) -> int:
    return next(i for i, rooms in enumerate(LAYERS) if room in rooms)


def upward_imports(modules: list[Module]) -> list[str]:
    """Imports that point upwards; the names of the package itself are those of the maps."""
    found = []
    for module in modules:
        if not module.room:
            continue
        for imported in module.imports:
            parts = imported.module.split(".")
            if len(parts) == 1:
                of_maps = not (imported.name or "").startswith("__")
                if of_maps and layer(module.room) <= layer("base"):
                    found.append(f"{module.path} imports bochner itself")
            elif layer(parts[1]) > layer(module.room) or (module.room, parts[1]) in APART:
                found.append(f"{module.path} imports {imported.module}")
    return found


def package_cycles(modules: list[Module]) -> list[str]:
    """Packages that reach themselves; what is imported for types only is not run."""
    reached: dict[str, set[str]] = {}
    for module in modules:
        if module.room:
            others = {
                i.module.split(".")[1]
                for i in module.imports
                if not i.for_types and "." in i.module
            }
            reached.setdefault(module.room, set()).update(others - {module.room})
    grown = True
    while grown:
        grown = False
        for rooms in reached.values():
            more = set().union(*(reached.get(room, set()) for room in rooms)) - rooms
            rooms |= more
            grown = grown or bool(more)
    groups = {
        tuple(sorted(other for other in rooms if room in reached.get(other, ())))
        for room, rooms in reached.items()
        if room in rooms
    }
    return [f"cycle of {', '.join(group)}" for group in groups]


def private_names(modules: list[Module]) -> list[str]:
    """Names with an underscore that another module imports or looks up."""
    found = []
    for module in modules:
        imported = module.imports
        bound = {i.bound: i.module for i in imported if i.name is None}
        found += [
            f"{module.path} imports {i.name} from {i.module}"
            for i in imported
            if any(map(is_private, [i.name or "", *i.module.split(".")[1:]]))
        ]
        for node in module.nodes:
            if not (isinstance(node, ast.Attribute) and is_private(node.attr)):
                continue
            root = ast.unparse(node.value)
            if root in bound or root in module.names:
                found.append(f"{module.path} looks up {root}.{node.attr}")
    return found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@dataclass(frozen=True)
class Registry:
    """Registered names, the modules that may recognise them, and of what they are names.

    Where `subject` is given, a name is recognised only where it is compared with something so
    called: the word may have other meanings.
    """

    names: frozenset[str]
    home: tuple[str, ...]
    subject: str = ""


REGISTRIES = {
    "method": Registry(frozenset(METHODS), ("models/methods",)),
    "kernel": Registry(frozenset(KERNELS), ("kernels",), subject="kernel"),
    "study": Registry(frozenset(STUDIES), ("papers/registry",)),
    "format": Registry(
        frozenset(FORMATS) | {suffix for entry in FORMATS.values() for suffix in entry.suffixes},
        ("data/formats",),
    ),
}


def recognised_names(
    modules: list[Module], registries: dict[str, Registry] = REGISTRIES
) -> list[str]:
    """Registered names that are compared, matched or keys of a dictionary elsewhere."""
    constants = {module.name: constants_of(module) for module in modules}
    found = []
    for module in modules:
        known = dict(constants[module.name])
        for imported in module.imports:
            constant = constants.get(imported.module, {}).get(imported.name or "")
            if constant is not None:
                known[imported.bound] = constant
        decisions = list(decisions_of(module, known))
        for kind, registry in registries.items():
            if any(f"{module.path}/".startswith(f"{home}/") for home in registry.home):
                continue
            found += [
                f"{module.path} recognises the {kind} {name!r}"
                for subject, literals in decisions
                for name in sorted(registry.names & literals)
                if registry.subject in subject
            ]
    return found


Constants = dict[str, frozenset[str]]


def constants_of(module: Module) -> Constants:
    """The strings, alone or in a tuple, list or set, that a module gives names to."""
    found: Constants = {}
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[ast.unparse(target)] = strings_in([node.value], {})
    return found


def decisions_of(module: Module, known: Constants) -> Iterator[tuple[str, frozenset[str]]]:
    """What is looked at, as text, and the strings that it is compared with."""
    for node in module.nodes:
        if isinstance(node, ast.Compare):
            yield ast.unparse(node), strings_in([node.left, *node.comparators], known)
        elif isinstance(node, ast.Match):
            patterns = [
                part.value
                for case in node.cases
                for part in ast.walk(case.pattern)
                if isinstance(part, ast.MatchValue)
            ]
            yield ast.unparse(node.subject), strings_in(patterns, known)
        elif isinstance(node, ast.Dict):
            yield "", strings_in([key for key in node.keys if key is not None], known)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"startswith", "endswith", "removeprefix", "removesuffix"}:
                yield ast.unparse(node.func.value), strings_in(node.args, known)
            elif node.func.attr in {"index", "count"}:
                yield ast.unparse(node), strings_in([node.func.value, *node.args], known)


def strings_in(nodes: list[ast.expr], known: Constants) -> frozenset[str]:
    """Strings that stand there, in a tuple, list or set, or by the name of a constant."""
    found: set[str] = set()
    for node in nodes:
        for part in node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.add(part.value)
            elif isinstance(part, ast.Name):
                found |= known.get(part.id, frozenset())
    return frozenset(found)


Rule = Callable[[list[Module]], list[str]]
RULES: list[Rule] = [upward_imports, package_cycles, private_names, recognised_names]


# ------------------------------------------------------------------------------ the tests


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_source_follows_the_rule(rule):
    assert not (found := set(rule(read_source()))), "\n".join(sorted(found))


def test_every_package_has_a_layer():
    for module in read_source():
        assert not module.room or layer(module.room) >= 0


MADE_UP = [
    (
        upward_imports,
        {"bochner.engine.a": "from bochner.models import b"},
        "imports bochner.models",
    ),
    (
        upward_imports,
        {"bochner.engine.a": "def f():\n    import bochner.cli.app"},
        "engine/a imports bochner.cli.app",
    ),
    (
        upward_imports,
        {"bochner.linear.a": "importlib.import_module('bochner.fourier.b')"},
        "linear/a imports bochner.fourier.b",
    ),
    (upward_imports, {"bochner.data.a": "from bochner.models.b import c"}, "data/a imports"),
    (
        upward_imports,
        {"bochner.report.a": "from bochner.compare import c", "bochner.compare.c": ""},
        "report/a imports bochner.compare.c",
    ),
    (
        upward_imports,
        {"bochner.fourier.a": "from bochner import MercerFeatures"},
        "bochner itself",
    ),
    (
        package_cycles,
        {
            "bochner.fourier.a": "def f():\n    from bochner.images.b import c",
            "bochner.images.b": "from bochner.mercer.d import e",
            "bochner.mercer.d": "import bochner.fourier.a",
        },
        "cycle of fourier, images, mercer",
    ),
    (private_names, {"bochner.a": "from bochner.b import _c"}, "a imports _c from bochner.b"),
    (
        private_names,
        {"bochner.a": "from bochner.p import q\nq._c()", "bochner.p.q": ""},
        "a looks up q._c",
    ),
    (private_names, {"bochner.a": "import bochner.p.q as x\nx._c"}, "a looks up x._c"),
    (recognised_names, {"bochner.cli.a": "m == 'Nystroem'"}, "recognises the method 'Nystroem'"),
    (recognised_names, {"bochner.cli.a": "m in ('x', 'exact')"}, "the method 'exact'"),
    (
        recognised_names,
        {"bochner.cli.a": "from bochner.cli.b import C\nm != C", "bochner.cli.b": "C = 'exact'"},
        "the method 'exact'",
    ),
    (recognised_names, {"bochner.cli.a": "C = ('x', 'exact')\nC.index(m)"}, "the method 'exact'"),
    (recognised_names, {"bochner.cli.a": "m.startswith('FourierFeatures')"}, "FourierFeatures"),
    (recognised_names, {"bochner.cli.a": "{'MercerFeatures': 1}[m]"}, "MercerFeatures"),
    (
        recognised_names,
        {"bochner.cli.a": "match m:\n    case 'RBFSampler' | 'x':\n        pass"},
        "RBFSampler",
    ),
    (recognised_names, {"bochner.cli.a": "self.kernel != 'gaussian'"}, "the kernel 'gaussian'"),
    (recognised_names, {"bochner.cli.a": "study == 'letarte-table1'"}, "the study"),
    (recognised_names, {"bochner.cli.a": "path.suffix in {'.npz'}"}, "the format '.npz'"),
]


@pytest.mark.parametrize(("rule", "sources", "words"), MADE_UP)
def test_a_made_up_violation_is_found(rule, sources, words):
    (violation,) = rule(modules_of(sources))
    assert words in violation


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (upward_imports, "from bochner import __version__, MercerFeatures"),
        (upward_imports, "from bochner.engine.operations import fourier_sums"),
        (upward_imports, "from bochner.data.toys import windmill"),
        (
            package_cycles,
            "if TYPE_CHECKING:\n    from bochner.data.a import b\nfrom bochner.models.c import d",
        ),
        (private_names, "from bochner.a import __doc__\nself._own"),
        (private_names, "import bochner.a as a\na.public"),
        (recognised_names, "MercerFeatures(density='gaussian')"),
        (recognised_names, "density == 'gaussian'"),
        (recognised_names, "make('MercerFeatures')"),
    ],
)
def test_what_is_allowed_is_not_reported(rule, source):
    others = {"bochner.data.a": "from bochner.models.b import c", "bochner.engine.operations": ""}
    others = others if rule is package_cycles else {}
    assert rule(modules_of({"bochner.models.b": source, **others})) == []


# ------------------------------------------------------------------ light for the user


def test_no_heavy_package_is_imported_before_it_is_used():
    code = """
import sys
import bochner
assert not {"numpy", "sklearn"} & sys.modules.keys(), "the package alone imports nothing"
import sklearn.kernel_approximation
before = set(sys.modules)
for name in bochner.__all__:
    getattr(bochner, name)
print(*set(sys.modules) - before)
"""
    ours = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bochner.fourier.features" in ours
    packages = {name.partition(".")[0] for name in ours}
    heavy = {"numba", "torch", "dask", "typer", "rich", "pandas", "array_api_compat", "matplotlib"}
    assert not packages & heavy


def test_public_names_and_modules_are_attributes():
    assert all(getattr(bochner, name).__name__ == name for name in bochner.__all__)
    assert set(bochner.__all__) <= set(dir(bochner))
    assert bochner.kernels.KERNELS
    for name in ("NoSuchMap", "_hidden"):
        with pytest.raises(AttributeError, match=name):
            getattr(bochner, name)


def test_plain_install_is_enough():
    """Fitting and transforming NumPy rows needs nothing but the core dependencies."""
    code = """
import sys

class Absent:
    names = {"array_api_compat", "torch", "dask", "matplotlib", "rich", "typer", "pandas"}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import warnings
import numpy as np
import bochner
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 3)), np.arange(100) % 2
for name in bochner.__all__:
    if name == "ConvolutionalKernelNetwork":
        continue  # takes images
    if name.startswith("Kernel"):
        model = getattr(bochner, name)(n_components=4)
        model.fit(X, y if name.endswith("Classifier") else X[:, 0]).predict(X)
        continue
    for target in (y, np.arange(100) % 3, X[:, 0] ** 2):
        estimator = getattr(bochner, name)()
        for size, few in {"n_components": 4, "n_candidates": 50, "n_frequencies": 20}.items():
            if hasattr(estimator, size):
                setattr(estimator, size, few)
        estimator.fit(X, target).transform(X)
for update in ("corrective", "gradient"):
    for target in (y, X[:, 0] ** 2):
        bochner.MarginFourierFeatures(n_components=4, dual_update=update).fit(X, target)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
