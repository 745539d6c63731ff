"""Names of a package that are imported on first use, so that importing the package is fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from importlib import import_module
from typing import Any


def lazy_names(
    namespace: MutableMapping[str, Any], modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the package.
    modules : mapping
        Mapping from each public name to the module that defines it. Modules of the package are
        found by their names, too.

    Examples
    --------
    >>> namespace = {"__name__": "collections"}
    >>> get, names = lazy_names(namespace, {"Mapping": "collections.abc"})
    >>> get("Mapping")
    <class 'collections.abc.Mapping'>
    >>> names()
    ['Mapping', '__name__']
    """
    package = namespace["__name__"]

    def get(name: str) -> Any:
        if name in modules:
            namespace[name] = getattr(import_module(modules[name]), name)
            return namespace[name]
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*namespace, *modules})
