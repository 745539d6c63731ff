"""The description of a method: everything that the program must know of a way to make a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from bochner.fourier.bandwidth import DEFAULT_GAMMA
from bochner.models.preparation import make_preparation

Task = Literal["classification", "regression"]
TASKS = ("classification", "regression")
MAX_DENSE = 50_000_000  # numbers of sparse rows made dense


@dataclass(frozen=True)
class Rows:
    """What a method may know about the rows that it will learn from, before it sees any."""

    n_rows: int
    n_columns: int
    task: str
    image_shape: tuple[int, int, int] | None = None
    is_sparse: bool = False


Reason = str | None


def _always(width: int | None, rows: Rows) -> Reason:
    return None


def _no_settings(*_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Imported:
    """A class or function that makes a map, given by its full name and imported on first use.

    >>> Imported("sklearn.kernel_approximation.RBFSampler")(n_components=10)
    RBFSampler(n_components=10)
    """

    path: str

    @property
    def maker(self) -> Callable[..., Any]:
        """The class or the function itself."""
        module, _, name = self.path.rpartition(".")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    def __call__(self, **parameters: Any) -> Any:
        return self.maker(**parameters)


@dataclass(frozen=True)
class Method:
    """A way to make a model of rows, as the program offers it.

    A method is a feature map with a linear model on top, the exact kernel method, or a whole
    model.

    Attributes
    ----------
    name : str
        Name of the method in tables and options.
    summary : str
        Description of the method in one line.
    make : callable or None
        Makes the unfitted map from `n_components`, `gamma`, `random_state`, for supervised maps
        `target`, and the settings of `grid`. None for methods without a map.
    whole : callable or None
        Makes an unfitted model that chooses its settings itself, from `task`, `n_rows`,
        `balanced` and `random_state`. A method with neither is the exact kernel method.
    prepare : callable
        Makes the unfitted preparation of a whole model, from rows and their `image_shape`.
    called : str
        Name in sentences of a method without a width.
    sparse : bool
        Whether a whole model takes sparse rows.
    simplest : bool
        Whether the method counts as narrower than every map.
    only_compared : str or None
        Why ``fit`` does not offer the method, if it does not.
    cost : int
        Rank of the method by the cost of a fit, the cheapest first.
    supervised : bool
        Whether the map uses the labels.
    tasks : tuple of str
        Tasks that the method can be used for.
    grid : mapping
        Settings of the map that are chosen on held-out rows, each with its values in order.
    uses_gamma : bool
        Whether `gamma` matters enough to be chosen on held-out rows.
    baseline : bool
        Whether the method is not part of this package; it then works on NumPy rows only.
    counterpart : str or None
        The method of this package with the same kernel, if this one is a reference for it.
    main : bool
        Whether the method is compared by default.
    reference : bool
        Whether learned maps are compared with this method in words.
    even : bool
        Whether the columns come in pairs, a cosine and a sine.
    images : bool
        Whether the method is for images only; `make` is then given `image_shape`, and no `gamma`.
    limit : callable
        Returns why the method cannot have a width for given rows, for reasons that the other
        attributes do not cover; None if it can.
    start : callable
        Returns further settings for a number of columns of the rows and a width.
    settle : callable
        Returns settings that the fitted map found by itself on held-out rows, and that need not be
        searched for again.
    trial_limits : mapping
        Upper limits of settings of a costly map while other settings are chosen.
    trial_settings : mapping
        Settings that hold meanwhile, if they save more than they change.
    trial_width : int or None
        The largest number of columns meanwhile.
    guarantee : str or None
        The kind of guarantee for the kernel, a key of `bochner.compare.guarantees.KINDS`.
    patterns : {"found", "weighted", "patches"} or None
        What a picture can show of the patterns learned from images: frequencies in the order in
        which they were found at peaks of the labels' Fourier potential, the frequencies of the
        largest weights, or directions of patches.
    saved_types : tuple of str
        Full names of the types that a fitted map may hold in a model file.
    """

    name: str
    summary: str
    make: Callable[..., Any] | None
    cost: int
    whole: Callable[..., Any] | None = None
    prepare: Callable[..., Any] = make_preparation
    called: str = ""
    sparse: bool = True
    simplest: bool = False
    only_compared: str | None = None
    supervised: bool = False
    tasks: tuple[str, ...] = TASKS
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    uses_gamma: bool = True
    baseline: bool = False
    counterpart: str | None = None
    main: bool = True
    reference: bool = False
    even: bool = False
    images: bool = False
    limit: Callable[[int | None, Rows], Reason] = _always
    start: Callable[[int, int | None], dict[str, Any]] = _no_settings
    settle: Callable[[Any], dict[str, Any]] = _no_settings
    trial_limits: Mapping[str, int] = field(default_factory=dict)
    trial_settings: Mapping[str, Any] = field(default_factory=dict)
    trial_width: int | None = None
    guarantee: str | None = None
    patterns: Literal["found", "weighted", "patches"] | None = None
    saved_types: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the method is the exact kernel method, which has no map and so no width."""
        return self.make is None and self.whole is None

    @property
    def has_width(self) -> bool:
        """Whether the method has a map, whose number of columns is its width."""
        return self.make is not None

    @property
    def has_kernel(self) -> bool:
        """Whether the method is a kernel method; whole models of others are for comparison."""
        return self.whole is None or not self.baseline

    def why_not(self, width: int | None, rows: Rows) -> Reason:
        """Return why the method cannot be used with this width on such rows; None if it can."""
        if rows.task not in self.tasks:
            return f"{self.name} is not for {rows.task}"
        if self.images and rows.image_shape is None:
            return (
                f"{self.name} is for images: give their shape, such as --image-shape 28x28 or "
                "32x32x3, or arrays of shape (n, height, width) in an npz file"
            )
        if self.even and width is not None and width % 2:
            return (
                f"{self.name} with {width} columns: its width must be even, a cosine and a sine "
                "for each frequency"
            )
        if not self.sparse and rows.is_sparse and rows.n_rows * rows.n_columns > MAX_DENSE:
            return f"{self.name} would make {rows.n_columns} sparse columns dense"
        return self.limit(width, rows)

    def make_map(
        self,
        *,
        width: int | None,
        task: str,
        gamma: float | str = DEFAULT_GAMMA,
        image_shape: tuple[int, int, int] | None = None,
        random_state: int = 0,
        **settings: Any,
    ) -> Any:
        """Return the unfitted feature map of `width` columns, with parameters in `settings`.

        `gamma` is as the map takes it; `image_shape`, which methods for images need, is height,
        width and channels.

        Examples
        --------
        >>> from bochner.models.methods import find_method
        >>> find_method("RBFSampler").make_map(width=10, gamma=0.5, task="regression")
        RBFSampler(gamma=0.5, n_components=10, random_state=0)
        """
        if self.make is None:
            raise ValueError(f"method {self.name!r} has no feature map.")
        if width is None:
            raise ValueError(f"width must be a whole number for {self.name!r}, got None.")
        if self.supervised:
            settings = {"target": task, **settings}
        if self.images:
            if image_shape is None:
                raise ValueError(f"{self.why_not(width, Rows(0, 0, task))}.")
            settings = {"image_shape": tuple(image_shape), **settings}
        else:
            settings = {"gamma": gamma, **settings}
        return self.make(n_components=width, random_state=random_state, **settings)
