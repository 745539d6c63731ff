"""Graphs against the maps and pipelines they were made of, run by onnxruntime."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_digits, load_iris
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

import bochner
from bochner.images.layers import PatchLayer
from bochner.kernels import Matern
from bochner.linear.exact import GaussianKernelRidge
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from bochner.models.preparation import make_preparation
from bochner.models.scaling import SCALINGS, ColumnScaler

pytest.importorskip("skl2onnx", reason="the packages for ONNX are not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from bochner.models.onnx import preparation  # noqa: E402
from bochner.models.onnx.converters import CONVERTERS, Converter  # noqa: E402
from bochner.models.onnx.converters import MAPS as REGISTERED  # noqa: E402
from bochner.models.onnx.fourier import write_unweighted  # noqa: E402
from bochner.models.onnx.pipelines import (  # noqa: E402
    LEAST_OPSET,
    check_convertible,
    register,
    to_onnx,
)
from tests.feature_map_case import PUBLIC_MAPS  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_split")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)) * [2.0, 1.0, 0.5, 0.3] + 0.5
LABELS = np.arange(90) % 3
NEW = RNG.normal(size=(200, 4)) * 2


def run(model, inputs):
    """All outputs of a graph; a warning of onnxruntime would mean a shape that is not true."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    if not isinstance(inputs, dict):
        inputs = {"X": inputs}
    outputs = session.run(None, inputs)
    for output, values in zip(session.get_outputs(), outputs, strict=True):
        declared = [size if isinstance(size, int) else None for size in output.shape]
        assert len(declared) == values.ndim
        assert all(d in (None, s) for d, s in zip(declared, values.shape, strict=True))
    return outputs


def mercer(**parameters):
    return bochner.MercerFeatures(random_state=0, n_mixture=3, **{"n_components": 40} | parameters)


MAPS = {
    "fourier": bochner.FourierFeatures(n_components=20, random_state=0),
    "fourier, laplacian": bochner.FourierFeatures(
        n_components=20, kernel="laplacian", gamma=0.1, random_state=0
    ),
    "fourier, offsets": bochner.FourierFeatures(n_components=21, paired=False, random_state=0),
    "posterior": bochner.PosteriorFourierFeatures(n_components=20, random_state=0),
    "posterior, chi2": bochner.PosteriorFourierFeatures(
        n_components=20, divergence="chi2", random_state=0
    ),
    "margin": bochner.MarginFourierFeatures(n_components=10, random_state=0),
    "landmarks": bochner.LandmarkSimilarities(n_components=10, beta=1.0, random_state=0),
    "landmarks, own frequencies": bochner.LandmarkSimilarities(
        n_components=10, frequencies="own", random_state=0
    ),
    **{
        f"landmarks, plain, {kernel}": bochner.LandmarkSimilarities(
            n_components=10, posterior=None, kernel=kernel, random_state=0
        )
        for kernel in ("gaussian", "laplacian", "cauchy", "matern")
    },
    "mercer": mercer(),
    "mercer, one feature": mercer(n_components=1),
    "mercer, reranked": mercer(rerank=True),
    "mercer, normalized": mercer(normalize=True),
    "mercer, mixture": mercer(density="mixture"),
    "mercer, weighted": mercer(density="weighted-mixture", normalize=True),
    **{
        f"mercer, marginals, {kernel}": mercer(density="marginals", kernel=kernel)
        for kernel in ("gaussian", "laplacian", "cauchy", "matern")
    },
    "mercer, marginals, normalized": mercer(density="marginals", normalize=True),
    "harmonics": bochner.MarginHarmonicFeatures(n_components=20, random_state=0),
    "zonal": bochner.MarginHarmonicFeatures(n_components=20, functions="zonal", random_state=0),
    **{
        f"nystroem features, {kernel}": bochner.NystroemFeatures(20, kernel=kernel, random_state=0)
        for kernel in ("gaussian", "laplacian", "cauchy", "matern", "exponential")
    },
    "metric": bochner.GradientMetric("full", n_frequencies=16, random_state=0),
    "metric, columns": bochner.GradientMetric("diagonal", n_frequencies=16, random_state=0),
    "relevance": bochner.RelevanceMetric(n_steps=2, random_state=0),
    **{f"scaling, {scaling}": ColumnScaler(scaling) for scaling in SCALINGS},
    "nystroem": Nystroem(n_components=20, random_state=0),
    "nystroem, gamma": Nystroem(n_components=20, gamma=0.3, random_state=0),
    "nystroem, laplacian": Nystroem(n_components=20, kernel="laplacian", random_state=0),
    "rbf sampler": RBFSampler(n_components=20, random_state=0),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_maps_agree(name, dtype, tolerance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that cut a shell
        learned = MAPS[name].fit(X.astype(dtype), LABELS)
    rows = NEW.astype(dtype)
    expected = learned.transform(rows)
    (found,) = run(to_onnx(learned, rows), rows)
    assert found.dtype == dtype
    assert found.shape == expected.shape
    # Whitening enlarges rounding, which is said of the map itself; Nystroem inverts a root.
    slack = 100 if "mixture" in name or "nystroem" in name else 1
    if dtype == np.float64 or slack == 1:
        np.testing.assert_allclose(found, expected, rtol=0, atol=slack * tolerance)
    else:  # float32 rows, float64 arithmetic in the graph: against the map in float64
        np.testing.assert_allclose(
            found, learned.transform(rows.astype(np.float64)), rtol=0, atol=tolerance
        )


WAVES = [name for name in MAPS if name.startswith(("fourier", "posterior", "margin", "rbf"))]


@pytest.mark.parametrize("name", [*WAVES, "landmarks"])
def test_large_phases_of_float32_rows(name):
    """A phase of 1e5 is uncertain by 6e-3 in float32; the truth is what float64 says of it."""
    learned = MAPS[name].fit(X.astype(np.float32), LABELS)
    rows = (NEW * 1e5).astype(np.float32)
    expected = learned.transform(rows)
    if name in WAVES:
        W = getattr(learned, "frequencies_", None)
        W = learned.random_weights_ if W is None else W
        offsets = getattr(learned, "offsets_", getattr(learned, "random_offset_", None))
        phases = rows.astype(np.float64) @ W.astype(np.float64)
        weights = getattr(learned, "weights_", 1 / W.shape[1])
        if offsets is None:
            waves = np.hstack([np.cos(phases) * weights**0.5, np.sin(phases) * weights**0.5])
        else:
            waves = np.cos(phases + offsets) * (2 * weights) ** 0.5
        expected = waves
    (found,) = run(to_onnx(learned, rows), rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_every_map_of_the_package_is_tried():
    tried = {type(learned).__name__ for learned in MAPS.values()}
    assert tried >= PUBLIC_MAPS - {"ConvolutionalKernelNetwork"}


def test_rest_directions_and_shells_of_many_columns():
    """More columns than axes that are used: the rest shares one ratio."""
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(300, 30)) * np.r_[np.full(4, 2.0), np.full(26, 0.01)]
    learned = mercer(n_components=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned.fit(wide)
    assert learned._plan.n_rest > 0
    (found,) = run(to_onnx(learned, wide), wide)
    np.testing.assert_allclose(found, learned.transform(wide), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["harmonics", "zonal"])
def test_zero_rows_have_no_place_on_the_sphere(name):
    learned = MAPS[name].fit(X, LABELS)
    (found,) = run(to_onnx(learned, X), np.zeros((2, 4)))
    np.testing.assert_array_equal(found, learned.transform(np.zeros((2, 4))))
    np.testing.assert_array_equal(found, 0)


def test_rows_far_out_are_zero_not_nan():
    learned = mercer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned.fit(X)
    (found,) = run(to_onnx(learned, X), np.full((1, 4), 1e6))
    assert not found.any()
    assert not learned.transform(np.full((1, 4), 1e6)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("head", [RidgeClassifier(), LinearSVC(dual=False)])
def test_classifiers_agree(dtype, classes, names, head):
    y = LABELS % classes
    y = np.array(["no", "maybe", "yes"])[y] if names else y
    rows = X.astype(dtype)
    model = make_pipeline(
        StandardScaler(), bochner.FourierFeatures(n_components=20, random_state=0), head
    ).fit(rows, y)
    label, scores = run(to_onnx(model, rows), rows)
    assert label.tolist() == model.predict(rows).tolist()
    expected = model.decision_function(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    assert scores.dtype == dtype


def test_scalers_keep_float64():
    """Numbers far from zero, of which float32 would keep nothing."""
    rows = 1e6 + X
    model = make_pipeline(StandardScaler(), MAPS["fourier"]).fit(rows)
    (found,) = run(to_onnx(model, rows), rows)
    np.testing.assert_allclose(found, model.transform(rows), rtol=0, atol=1e-9)


def test_other_heads_of_scikit_learn():
    rows = X.astype(np.float32)
    for head in (LogisticRegression(), SVC()):
        model = make_pipeline(MinMaxScaler(), MAPS["fourier"], head).fit(rows, LABELS)
        label, _ = run(to_onnx(model, rows), rows)
        assert np.mean(label == model.predict(rows)) == 1
    y = X[:, 0] ** 2
    exact = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    for head in (Ridge(), KernelRidge(kernel="rbf", gamma=0.1), exact, GaussianKernelRidge(0.1)):
        model = make_pipeline(StandardScaler(), head).fit(X, y)
        (found,) = run(to_onnx(model, X), X)
        np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=0, atol=1e-10)


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "rooms": rng.integers(1, 9, n),
            "town": rng.choice(["Ulm", "Bonn", "Rom", "Oslo"], n, p=[0.5, 0.3, 0.195, 0.005]),
            "owner": rng.random(n) < 0.5,
            "constant": 1.0,
            "garden": rng.choice(["yes", "no"], n),
        }
    )
    frame.loc[frame.index % 7 == 0, "age"] = np.nan
    frame.loc[frame.index % 11 == 0, "town"] = None
    return frame


FOR_TABLES = [n for n, method in METHODS.items() if not (method.images or method.only_compared)]


def as_inputs(frame, names):
    """Columns as the graph takes them: numbers, or strings with nothing for what is missing."""
    return {
        name: frame[[name]].to_numpy(np.float64)
        if frame[name].dtype.kind in "fiub"
        else frame[[name]].astype(object).fillna("").to_numpy(object)
        for name in names
    }


@pytest.mark.parametrize("method", FOR_TABLES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pipelines_of_the_program_agree(method, task):
    train, new = table(), table(60, seed=1)
    new.loc[3, "town"] = "Paris"  # never seen
    y = np.where(train["rooms"] > 4, "large", "small")
    y = y if task == "classification" else train["rooms"] ** 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that cut a shell
        model = make_model(method, train, y, task, width=16).fit(train, y)
    graph = to_onnx(model, train)
    names = [variable.name for variable in graph.graph.input]
    assert names == ["age", "rooms", "town", "owner", "garden"]
    outputs = run(graph, as_inputs(new, names))
    if task == "classification":
        assert outputs[0].tolist() == model.predict(new).tolist()
    else:
        np.testing.assert_allclose(outputs[0].ravel(), model.predict(new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [16, "auto"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_kernel_models_agree(scaling, width):
    """Scaling, metric, map and head after filled-in columns, one of them with two values."""
    train, new = table(), table(60, seed=1)
    y = np.where(train["rooms"] > 4, "large", "small")
    prepare = make_preparation(train).fit(train)
    kernel = "matern" if scaling == "none" else "gaussian"
    chosen = bochner.KernelClassifier(
        width, kernel=kernel, metric="full", scaling=scaling, random_state=0
    ).fit(prepare.transform(train), y)
    model = Pipeline([("prepare", prepare), *chosen.pipeline_.steps])
    graph = to_onnx(model, train)
    names = [variable.name for variable in graph.graph.input]
    label, scores = run(graph, as_inputs(new, names))
    assert label.tolist() == model.predict(new).tolist()
    np.testing.assert_allclose(scores[:, 0], model.decision_function(new), rtol=0, atol=1e-8)


def test_quantiles_of_too_many_columns_are_refused(monkeypatch):
    scaler = ColumnScaler("quantile").fit(X)
    monkeypatch.setattr(preparation, "_MOST_CURVES", 3)
    with pytest.raises(NotImplementedError, match=r"quantiles of 4 columns.*use another scaling"):
        check_convertible(scaler)
    check_convertible(ColumnScaler("quantile").fit(X > 0))


@pytest.mark.parametrize("method", FOR_TABLES)
def test_pipelines_of_images_agree(method):
    rows, y = load_digits(return_X_y=True)
    rows, new, y = rows[:150].astype(np.uint8), rows[150:250], y[:150]
    new[3, 5] = np.nan  # a missing pixel
    model = make_model(method, rows, y, "classification", width=32, image_shape=(8, 8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that cut a shell
        model.fit(rows, y)
    label, *_ = run(to_onnx(model, rows), new)
    assert label.tolist() == model.predict(new).tolist()
    scaler = model.named_steps["prepare"]
    (found,) = run(to_onnx(scaler, rows), new)
    np.testing.assert_allclose(found, scaler.transform(new), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", ["gaps", "sparse"])
def test_arrays_and_sparse_rows(kind):
    rows, y = load_iris(return_X_y=True)
    if kind == "gaps":
        rows[::7, 1] = np.nan
        dense = rows
    else:
        rows[rows < 1] = 0
        dense, rows = rows, sparse.csr_matrix(rows)
    model = make_model("FourierFeatures", rows, y, "classification", width=16).fit(rows, y)
    label, _ = run(to_onnx(model, rows), dense)
    assert label.tolist() == model.predict(rows).tolist()


# Of every kind of map those whose graphs differ in more than a kernel.
WITH_GRAPHS_OF_THEIR_OWN = [
    name
    for name in MAPS
    if type(MAPS[name]) in REGISTERED
    and not name.endswith(("chi2", "laplacian", "cauchy", "matern", "gamma"))
]


@pytest.mark.parametrize("name", WITH_GRAPHS_OF_THEIR_OWN)
def test_registered_maps_are_known_to_skl2onnx(name):
    import skl2onnx

    assert {type(MAPS[name]) for name in WITH_GRAPHS_OF_THEIR_OWN} >= set(REGISTERED)
    register()
    model = make_pipeline(StandardScaler(), MAPS[name], LogisticRegression(C=10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that cut a shell; attributes skl2onnx looks at
        model.fit(X, LABELS)
        graph = skl2onnx.to_onnx(model, X, options={"zipmap": False}, target_opset=LEAST_OPSET)
    label, probabilities = run(graph, NEW)
    expected = model.predict_proba(NEW)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)  # float32 in skl2onnx
    first, second = np.sort(expected, axis=1)[:, -2:].T[::-1]
    sure = first - second > 1e-4
    np.testing.assert_array_equal(label[sure], model.predict(NEW)[sure])


@pytest.mark.parametrize("opset", [LEAST_OPSET, 18, {"": 17}])
def test_the_version_of_the_operators(opset):
    learned = MAPS["landmarks"].fit(X, LABELS)
    graph = to_onnx(learned, X, target_opset=opset)
    wanted = opset if isinstance(opset, int) else opset[""]
    assert max(part.version for part in graph.opset_import if not part.domain) <= wanted
    (found,) = run(graph, NEW)
    np.testing.assert_allclose(found, learned.transform(NEW), rtol=0, atol=1e-12)


@pytest.mark.parametrize("opset", [LEAST_OPSET - 1, 10**6, {"": 9}])
def test_versions_that_do_not_do_are_refused(opset):
    learned = MAPS["landmarks"].fit(X, LABELS)
    with pytest.raises(ValueError, match=f"target_opset must be from {LEAST_OPSET} to"):
        to_onnx(learned, X, target_opset=opset)


def test_a_new_map_is_one_entry(monkeypatch):
    class Doubled(bochner.FourierFeatures):
        """A map of the package that nobody has written yet."""

        __module__ = "bochner.fourier.doubled"

        def transform(self, X):
            return 2 * super().transform(X)

    learned = Doubled(n_components=4, random_state=0).fit(X)
    with pytest.raises(NotImplementedError, match=r"Doubled.*These maps can: FourierFeatures"):
        check_convertible(learned)

    def write(graph, x, model):
        return graph.times(write_unweighted(graph, x, model), 2.0)

    monkeypatch.setitem(CONVERTERS, Doubled, Converter(write))
    (found,) = run(to_onnx(make_pipeline(StandardScaler(), learned).fit(X), X), X)
    np.testing.assert_allclose(
        found, learned.transform(StandardScaler().fit_transform(X)), rtol=0, atol=1e-12
    )


def test_what_cannot_be_written_is_said():
    images = RNG.normal(size=(5, 8, 8, 1))
    network = bochner.ConvolutionalKernelNetwork(
        layers=[PatchLayer(3, 4, 2, approximation="fourier")], random_state=0
    ).fit(images)
    with pytest.raises(NotImplementedError, match=r"ConvolutionalKernelNetwork.*MercerFeatures"):
        to_onnx(network, images.reshape(5, -1))
    smooth = bochner.LandmarkSimilarities(
        n_components=5, posterior=None, kernel=Matern(nu=0.7), random_state=0
    ).fit(X, LABELS)
    with pytest.raises(NotImplementedError, match=r"Matern.*cannot be written"):
        to_onnx(smooth, X)
    with pytest.raises(NotImplementedError, match="Nystroem with kernel='poly'"):
        to_onnx(Nystroem(kernel="poly", n_components=5).fit(X), X)
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=90), "x": X[:, 0]})
    dated = make_model("FourierFeatures", frame, LABELS, "classification", width=4)
    with pytest.raises(NotImplementedError, match="DaysSinceEpoch"):
        check_convertible(dated)
    with pytest.raises(NotImplementedError, match="DaysSinceEpoch"):
        to_onnx(dated.fit(frame, LABELS), frame)
    check_convertible(make_model("FourierFeatures", X, LABELS, "classification", width=4))
    foreign = make_pipeline(PolynomialFeatures(), bochner.FourierFeatures(n_components=4)).fit(X)
    to_onnx(foreign, X)
