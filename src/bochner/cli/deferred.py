"""Modules that other libraries import and most commands never use: loaded at their first use.

scikit-learn and SciPy import these to have them at hand. They stay empty until a name of them is
asked for, or one of those that are imported by name is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

DEFERRED: dict[str, tuple[str, ...]] = {
    "scipy.spatial.transform": (),
    "scipy.stats": ("chi2", "gmean", "rankdata", "spearmanr"),
}
_loading = RLock()


class _Deferred(ModuleType):
    """A module whose code has not been run yet."""

    def __getattr__(self, name: str) -> Any:
        with _loading:
            loader = self.__dict__.pop("_loader", None)
            if loader is not None:
                loader.exec_module(self)
        try:
            return self.__dict__[name]
        except KeyError:
            hook = self.__dict__.get("__getattr__")
            if hook is not None:
                return hook(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _DeferringLoader(Loader):
    def __init__(self, loader: Any, names: Sequence[str]) -> None:
        self._loader, self._names = loader, names

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Deferred
        names = {name: _DeferredName(module, name) for name in self._names}
        module.__dict__.update(names, _loader=self._loader, __loader__=self._loader)


class _DeferredName:
    """A function or an object of a module, looked up when it is called or asked for a name."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self._find = lambda: (getattr(module, "_", None), getattr(module, name))[1]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._find()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(), name)


class _Finder(MetaPathFinder):
    def __init__(self, modules: Mapping[str, Sequence[str]]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _DeferringLoader(spec.loader, self._modules[fullname])
        return spec


def defer(modules: Mapping[str, Sequence[str]] = DEFERRED) -> None:
    """Run the code of modules when it is needed, for the rest of the process.

    `modules` maps names of modules to what others import of them by name and use later. What is
    imported already stays.

    Examples
    --------
    >>> defer({"scipy.stats": ("rankdata",)})
    """
    sys.meta_path.insert(0, _Finder(modules))
