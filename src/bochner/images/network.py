"""ConvolutionalKernelNetwork: image features from layers of approximated patch kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.base import FeatureMap, without_gradients
from bochner.engine.places import (
    as_array,
    asks_for_gradients,
    convert,
    detached,
    is_dask,
    is_device,
    item_size,
    namespace,
    to_numpy,
    wide_dtype,
    zeros,
)
from bochner.engine.rowwise import row_slices
from bochner.engine.summaries import rows_at
from bochner.images.bumps import orientation_bumps
from bochner.images.forward import FittedLayer, positions
from bochner.images.layers import (
    GradientLayer,
    Layer,
    PatchLayer,
    check_approximation,
    resolve_layers,
)
from bochner.images.patch_maps import fit_patch_map, squared_scale
from bochner.images.patches import draw_directions
from bochner.images.shapes import (
    as_maps,
    check_fits,
    check_values,
    shape_of_images,
    shape_of_rows,
    with_channels,
)


class ConvolutionalKernelNetwork(CallbackSupportMixin, FeatureMap):
    r"""Unsupervised image features from kernels between patches, layer by layer.

    A layer maps every patch `p` of its input, of norm `r` and direction `u`, to :math:`\zeta =
    r\, \xi(u)`, where :math:`\xi(u) \cdot \xi(u') \approx e^{-|u - u'|^2 / (2 \sigma^2)}`, and
    pools these features with Gaussian weights around the centres `c` of a grid,

    .. math:: \text{out}(c) = \sum_z e^{-|z - c|^2 / \beta^2}\, \zeta(z) .

    The inner product of two outputs approximates the convolutional kernel of two images, a sum
    over all pairs of their patches weighted by how near they are (the CKN of Mairal et al.). The
    output of a layer is the input of the next one; the flattened output of the last layer is the
    result, meant for a linear model.

    Parameters
    ----------
    layers : str or list of layers, default="mnist-pm"
        A list of :class:`~bochner.images.layers.PatchLayer` objects, the first of which may be a
        :class:`~bochner.images.layers.GradientLayer` instead, or the name of an architecture:

        ==============  ===============================================================
        name            layers: patch / maps / stride
        ==============  ===============================================================
        ``mnist-gm``    gradient 1 x 1 / 12 / 2, then 3 x 3 / 400 / 3
        ``mnist-pm``    5 x 5 / 50 / 2, then 2 x 2 / 200 / 3
        ``mnist-pm1``   5 x 5 / 200 / 4
        ``cifar-gm``    gradient 1 x 1 / 12 / 2, then 2 x 2 / 800 / 4
        ``cifar-pm``    2 x 2 / 100 / 2, then 2 x 2 / 800 / 4
        ==============  ===============================================================
    image_shape : tuple (height, width) or (height, width, channels) or None, default=None
        Shape of an image when `X` is flattened, one image per row. One of the numbers may be -1.
        Not needed for images that come with their shape.
    approximation : str, OptimizedMap or transformer, default="mercer"
        Approximation of the patch kernel, for layers that do not set their own:

        - ``"mercer"``: :class:`MercerFeatures`, eigenfunctions under the density of the patches;
        - ``"fourier"``: :class:`FourierFeatures`, random features; `maps` must be even;
        - ``"nystroem"``: :class:`NystroemFeatures`, from landmark patches, without the
          directions that the precision of the images does not resolve;
        - ``"optimized"``: the original map, with centres and weights found by L-BFGS; slow to
          fit. An :class:`~bochner.images.optimized.OptimizedMap` sets the number of pairs and
          iterations;
        - a transformer: cloned, and given the layer's `maps` as ``n_components`` and
          :math:`1 / (2 \sigma^2)` as ``gamma`` where it has such parameters.
    quantile : float, default=0.1
        Quantile of :math:`|u - u'|^2` over pairs of patches that is taken as :math:`\sigma^2`,
        for layers that do not set their own.
    n_patches : int, default=300000
        Number of patches that a layer is fitted to, drawn from those that are not zero, equally
        many from every image. Fewer are drawn where they would take more than a quarter of
        `memory_budget`.
    max_images : int or None, default=10000
        Number of images that patches are drawn from, and that the mean and scale are estimated
        on. If there are more, a random sample is used. None means all images.
    standardize : bool, default=True
        Whether to subtract the mean of every feature and divide all of them by one number, the
        root mean square of the norm.
    n_jobs : int, default=None
        Number of CPU threads. None means as many as BLAS may use, -1 means all. Transformers other
        than the three classes named above are called from one thread.
    memory_budget : int, default=2**30
        Memory in bytes for everything except the images and the result, whatever the number of
        images. The memory for one row of patches of one image is needed in any case.
    random_state : int, RandomState instance or None, default=None
        Controls the drawing of images and patches, and the randomness of the approximations.

    Attributes
    ----------
    layers_ : list of FittedLayer
        Fitted layers; call one with maps and a memory budget for its output.
    approximations_ : list
        Fitted approximation of every layer: a transformer, or the bumps of an optimised or a
        gradient layer.
    gammas_ : list of float or None
        Value of :math:`1 / (2 \sigma^2)` for every layer; None where the transformer keeps its
        own.
    shapes_ : list of tuples
        Height, width and channels of the images and of the output of every layer.
    mean_ : ndarray of shape (n_features_out,) or None
        Mean that is subtracted from the features, None without `standardize`.
    scale_ : float
        Number that the features are divided by, 1 without `standardize`.
    n_features_in_ : int
        Number of values in an image.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, when `X` is a table whose columns have names that are strings.

    See Also
    --------
    MercerFeatures : Default feature map of the patches.
    sklearn.feature_extraction.image.PatchExtractor : Extraction of patches only.

    Notes
    -----
    Patches of norm below 1e-6, and those that only rounding keeps from being constant where the
    patch mean is subtracted, contribute exactly 0. So a constant image has the features of an
    empty one (0 without `standardize`) if the first layer subtracts means or takes gradients.
    Fitting a layer needs patches with different directions; otherwise an error is raised.

    Images may have any real dtype: uint8, other integers of at most 16 bits, float16 and float32
    are computed in float32, all others in float64. They are converted a few at a time. Multiplying
    all images by a number multiplies the features before `standardize` by it. Images on a device
    (PyTorch, CuPy) are transformed there.

    The kernel of positions in equation 17 of Mukuta and Harada, :math:`e^{-|z - z'|^2 / (2
    \beta^2)}`, is proportional to the sum over a fine grid of centres of :math:`e^{-|z - c|^2 /
    \beta^2}\, e^{-|z' - c|^2 / \beta^2}`. With the default stride, width and radius the grid is
    coarse; the result is exact for the sum over the centres of that grid.

    The named architectures are those of the published results, as far as is known: the last
    strides of the MNIST ones are ours, and it is not known which of them are the settings 1, 2 and
    3 of Mukuta and Harada.

    Callbacks of scikit-learn, such as :class:`sklearn.callback.ProgressBar`, are notified of
    every layer.

    References
    ----------
    J. Mairal, P. Koniusz, Z. Harchaoui, C. Schmid, Convolutional kernel networks, NIPS 2014.

    Y. Mukuta and T. Harada, Kernel approximation via empirical orthogonal decomposition for
    unsupervised feature learning, CVPR 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import ConvolutionalKernelNetwork
    >>> from bochner.images.layers import PatchLayer
    >>> X, y = load_digits(return_X_y=True)
    >>> network = ConvolutionalKernelNetwork(
    ...     layers=[PatchLayer(patch=3, maps=40, stride=2)], image_shape=(8, 8), random_state=0)
    >>> model = make_pipeline(network, RidgeClassifier(alpha=0.01)).fit(X[:1000], y[:1000])
    >>> network.shapes_
    [(8, 8, 1), (3, 3, 40)]
    >>> bool(model.score(X[1000:], y[1000:]) > 0.95)
    True
    """

    _learned: ClassVar[str] = "scale_"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "layers": [str, list, tuple],
        "image_shape": [None, list, tuple],
        "approximation": "no_validation",  # type: ignore[dict-item]
        "quantile": [Interval(Real, 0, 1, closed="both")],
        "n_patches": [Interval(Integral, 2, None, closed="left")],
        "max_images": [None, Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "n_jobs": [None, Integral],
        "memory_budget": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    layers_: list[FittedLayer]
    shapes_: list[tuple[int, int, int]]
    mean_: NDArray[np.float64] | None
    scale_: float

    def __init__(
        self,
        *,
        layers: str | Sequence[Layer] = "mnist-pm",
        image_shape: tuple[int, ...] | None = None,
        approximation: Any = "mercer",
        quantile: float = 0.1,
        n_patches: int = 300_000,
        max_images: int | None = 10_000,
        standardize: bool = True,
        n_jobs: int | None = None,
        memory_budget: int = 2**30,
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.image_shape = image_shape
        self.approximation = approximation
        self.quantile = quantile
        self.n_patches = n_patches
        self.max_images = max_images
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.three_d_array = True
        return tags

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the layers, one after the other.

        Parameters
        ----------
        X : array of shape (n, height, width), (n, height, width, channels) or (n, n_features)
            Images, or flattened images with `image_shape`. A NumPy array, or one on a device.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        self.__dict__.pop(self._learned, None)
        layers = resolve_layers(self.layers)
        check_approximation(self.approximation)
        X, shape = self._validate_images(X, reset=True)
        check_fits(layers, shape)
        random_state = check_random_state(self.random_state)
        chosen = self._choose_images(int(X.shape[0]), random_state)
        self.layers_, self.shapes_ = [], [shape]
        self.approximations_: list[Any] = []
        self.gammas_: list[float | None] = []
        context = self._init_callback_context(max_subtasks=len(layers))
        context.call_on_fit_task_begin(estimator=self)
        for index, layer in enumerate(layers):
            task = context.subcontext(task_name="layer").call_on_fit_task_begin(estimator=self)
            fitted = self._fit_layer(X, chosen, index, layer, random_state)
            self.layers_.append(fitted)
            self.shapes_.append(fitted.shape_after(self.shapes_[-1]))
            task.call_on_fit_task_end(estimator=self)
        self.mean_, self.scale_ = self._center_and_scale(X, chosen)
        context.call_on_fit_task_end(estimator=self)
        return self

    def transform(self, X: Any) -> Any:
        """Map images to features.

        Parameters
        ----------
        X : array of shape (n, height, width), (n, height, width, channels) or (n, n_features)
            Images of the same shape as in `fit`.

        Returns
        -------
        array of shape (n, n_features_out)
            Features, on the device of `X`, in float32 or float64 (see the notes).
        """
        check_is_fitted(self)
        X, _ = self._validate_images(X, reset=False)
        out = None
        for part, batch in self._batches(X, None, len(self.layers_)):
            flat = self._flat(batch)
            if self.mean_ is not None:
                flat = (flat - convert(self.mean_, flat)) / self.scale_
            if out is None:
                out = zeros((int(X.shape[0]), flat.shape[1]), flat, flat.dtype)
            out[part, :] = flat
        return out

    @property
    def _n_features_out(self) -> int:
        return math.prod(self.shapes_[-1])

    def _validate_images(self, X: Any, *, reset: bool) -> tuple[Any, tuple[int, int, int]]:
        """Return `X`, flat or not, and the shape of an image; set what `fit` learns from it."""
        if is_dask(X):
            raise ValueError(
                "X is a dask collection: images must be an array in memory, on disk "
                "(numpy.memmap) or on a device. Use X.map_blocks for transform."
            )
        if asks_for_gradients(X) and not reset:
            raise without_gradients(self)
        X = detached(as_array(X))
        flat = len(X.shape) not in (3, 4)
        if flat and is_device(X):
            X = self._check_elsewhere(X, reset=reset)
        elif flat:
            X = validate_data(self, X, dtype="numeric", reset=reset)
        if reset and flat:
            shape = shape_of_rows(self.image_shape, X.shape[1])
        else:
            shape = shape_of_images(self.image_shape, X.shape) if reset else self.shapes_[0]
        if not flat:
            if with_channels(X.shape) != shape:
                raise ValueError(
                    f"X has images of shape {tuple(X.shape[1:])}, but "
                    f"{type(self).__name__} is expecting {shape} (height, width, channels)."
                )
            if reset:
                self.n_features_in_ = math.prod(shape)
                if hasattr(self, "feature_names_in_"):  # from an earlier fit to a table
                    del self.feature_names_in_
        check_values(X, shape, self.memory_budget)
        return X, shape

    def _choose_images(self, n: int, random_state: RandomState) -> NDArray[np.intp]:
        if self.max_images is None or n <= self.max_images:
            return np.arange(n)
        return np.sort(random_state.permutation(n)[: self.max_images])

    def _batches(
        self, X: Any, chosen: NDArray[np.intp] | None, depth: int
    ) -> Iterator[tuple[slice, Any]]:
        """Yield the output of the first `depth` layers, a few images at a time."""
        n = int(X.shape[0]) if chosen is None else len(chosen)
        shapes = self.shapes_[: depth + 1]
        # images, an output and the one before it, a copy of either
        largest = 8 * 4 * max(math.prod(shape) for shape in shapes)
        for part in row_slices(n, self.memory_budget // (4 * largest)):
            images = X[part, ...] if chosen is None else rows_at(X, chosen[part])
            maps = as_maps(images, self.shapes_[0])
            for layer in self.layers_[:depth]:
                maps = layer(maps, self.memory_budget // 2, self._n_threads())
            yield part, maps

    def _fit_layer(
        self,
        X: Any,
        chosen: NDArray[np.intp],
        index: int,
        layer: Layer,
        random_state: RandomState,
    ) -> FittedLayer:
        if isinstance(layer, GradientLayer):
            bumps = orientation_bumps(layer.maps)
            self.approximations_.append(bumps)
            self.gammas_.append(bumps.gamma / 2)
            return FittedLayer(layer, False, bumps, layer.maps)
        center = index == 0 and layer.patch > 1 if layer.center is None else layer.center
        U = self._sample(X, chosen, index, layer, center, random_state)
        gamma = None
        if layer.quantile != "own":
            quantile = self.quantile if layer.quantile is None else layer.quantile
            variance = squared_scale(U, quantile, random_state) if len(U) > 1 else 0.0
            if variance == 0:
                raise ValueError(
                    f"layers[{index}] has nothing to compare: n_samples={len(chosen)} images of "
                    f"n_features={self.n_features_in_} numbers have {len(U)} patches that are not "
                    + ("constant" if center else "zero")
                    + ", and all have the same direction. Give images that differ, or a larger "
                    "patch" + (", or center=False." if center else ".")
                )
            gamma = 1 / (2 * variance)
        approximation = self.approximation if layer.approximation is None else layer.approximation
        fitted = fit_patch_map(
            U,
            approximation,
            layer.maps,
            gamma,
            random_state,
            n_threads=self._n_threads(),
            memory_budget=self.memory_budget,
            like=X,
        )
        self.approximations_.append(fitted.estimator)
        self.gammas_.append(gamma)
        return FittedLayer(layer, center, fitted, fitted.n_maps, fitted.threads)

    def _sample(
        self,
        X: Any,
        chosen: NDArray[np.intp],
        depth: int,
        layer: PatchLayer,
        center: bool,
        random_state: RandomState,
    ) -> NDArray[Any]:
        """Draw directions of nonzero patches, the same number from every image, on the host."""
        rows, columns, channels = positions(layer, self.shapes_[depth])
        per_image, d = rows * columns, layer.patch**2 * channels
        most = max(2, min(self.n_patches, self.memory_budget // (4 * 8 * d)))
        if most < len(chosen):
            chosen = np.sort(random_state.permutation(chosen)[:most])
        quota = min(per_image, most // len(chosen))
        U, count = None, 0
        for _, maps in self._batches(X, chosen, depth):
            step = self.memory_budget // (8 * 4 * item_size(maps) * per_image * d)
            for part in row_slices(maps.shape[0], step):
                # a number for every position, so that the sizes of batches do not matter
                keys = random_state.random_sample((part.stop - part.start, per_image))
                directions = draw_directions(maps[part, ...], layer.patch, center, keys, quota)
                if U is None:
                    U = np.empty((quota * len(chosen), d), directions.dtype)
                U[count : count + len(directions)] = directions
                count += len(directions)
        assert U is not None
        return U[:count]

    def _center_and_scale(
        self, X: Any, chosen: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64] | None, float]:
        """Return the mean of the features and the root mean square of their distance to it."""
        if not self.standardize:
            return None, 1.0
        total, squares = np.zeros(self._n_features_out), 0.0
        for _, maps in self._batches(X, chosen, len(self.layers_)):
            flat = self._flat(maps)
            xp, wide = namespace(flat), wide_dtype(flat)
            total += to_numpy(xp.sum(flat, axis=0, dtype=wide))
            squares += float(xp.sum(flat * flat, dtype=wide))
        mean = total / len(chosen)
        variance = squares / len(chosen) - float(mean @ mean)
        return mean, variance**0.5 if variance > 1e-12 * squares / len(chosen) else 1.0

    def _flat(self, maps: Any) -> Any:
        return namespace(maps).reshape(maps, (maps.shape[0], self._n_features_out))
