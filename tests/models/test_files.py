"""Model files: what goes in comes out bit for bit, and nothing else is let in."""

import importlib
import io
import json
import os
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import bochner
from bochner.images.layers import GradientLayer, PatchLayer
from bochner.images.optimized import OptimizedMap
from bochner.kernels import Matern
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from bochner.models.scaling import SCALINGS, ColumnScaler
from bochner.models.schema import Schema
from bochner.models.trust import trusted_types

sio = pytest.importorskip("skops.io", reason="skops is not installed")

from bochner.models import files  # noqa: E402
from bochner.models.files import (  # noqa: E402
    FORMAT,
    ModelFileError,
    ModelFileWarning,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
LABELS = np.arange(80) % 3
IMAGES = RNG.normal(size=(6, 10, 10, 1))

MADE_BY_FIT = [name for name, method in METHODS.items() if not method.only_compared]
FOR_TABLES = [name for name in MADE_BY_FIT if not METHODS[name].images]

MAPS = {
    **{
        f"fourier, {kernel}, {sampling}": bochner.FourierFeatures(
            n_components=8, kernel=kernel, sampling=sampling, random_state=0
        )
        for kernel, sampling in zip(
            ("gaussian", "laplacian", "cauchy", "matern"),
            ("auto", "iid", "sobol", "halton"),
            strict=True,
        )
    },
    "fourier, orthogonal": bochner.FourierFeatures(
        n_components=8, sampling="orthogonal", random_state=np.random.RandomState(3)
    ),
    "fourier, offsets": bochner.FourierFeatures(n_components=8, paired=False, random_state=0),
    "fourier, object": bochner.FourierFeatures(
        n_components=8, kernel=Matern(nu=2.5, gamma=0.3), random_state=0
    ),
    "posterior": bochner.PosteriorFourierFeatures(n_components=8, random_state=0),
    "posterior, chi2": bochner.PosteriorFourierFeatures(
        n_components=8, divergence="chi2", random_state=0
    ),
    "landmarks": bochner.LandmarkSimilarities(n_components=8, random_state=0),
    "landmarks, learned": bochner.LandmarkSimilarities(n_components=8, beta=1.0, random_state=0),
    "landmarks, own frequencies": bochner.LandmarkSimilarities(
        n_components=8, frequencies="own", random_state=0
    ),
    "landmarks, random": bochner.LandmarkSimilarities(
        n_components=8, landmarks="random", random_state=0
    ),
    "landmarks, own": bochner.LandmarkSimilarities(
        landmarks=sparse.csr_matrix(X[:5]), posterior=None, random_state=0
    ),
    "margin": bochner.MarginFourierFeatures(n_components=8, random_state=0),
    "margin, gradient": bochner.MarginFourierFeatures(
        n_components=8, dual_update="gradient", random_state=0
    ),
    "harmonics": bochner.MarginHarmonicFeatures(n_components=8, random_state=0),
    "zonal": bochner.MarginHarmonicFeatures(n_components=8, functions="zonal", random_state=0),
    **{
        f"mercer, {density}": bochner.MercerFeatures(
            n_components=8, density=density, n_mixture=3, random_state=0
        )
        for density in ("gaussian", "mixture", "weighted-mixture", "marginals")
    },
    "mercer, matern": bochner.MercerFeatures(n_components=8, density="marginals", kernel="matern"),
    "mercer, reranked": bochner.MercerFeatures(n_components=8, normalize=True, rerank=True),
    "nystroem features": bochner.NystroemFeatures(8, kernel="exponential", random_state=0),
    "nystroem features, own landmarks": bochner.NystroemFeatures(
        landmarks=sparse.csr_matrix(X[:5]), kernel=Matern(nu=2.5, gamma=0.3)
    ),
    "metric": bochner.GradientMetric("full", n_frequencies=16, random_state=0),
    "metric, columns": bochner.GradientMetric("diagonal", n_frequencies=16, random_state=0),
    "relevance": bochner.RelevanceMetric(n_steps=2, random_state=0),
    **{f"scaling, {scaling}": ColumnScaler(scaling) for scaling in SCALINGS},
    "nystroem": Nystroem(n_components=8, random_state=0),
    "rbf sampler": RBFSampler(n_components=8, random_state=0),
}


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch):
    """Waiting for the disk is not what is tested."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def iris():
    rows, y = load_iris(return_X_y=True)
    steps = make_pipeline(StandardScaler(), bochner.MercerFeatures(n_components=20), Ridge())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return steps.fit(rows, y), rows


@pytest.fixture
def written(iris, tmp_path):
    pipeline, rows = iris
    path = tmp_path / "model.skops"
    return save_model(
        pipeline, path, schema=Schema.of(rows), details={"task": "regression", "target": "y"}
    )


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


@pytest.mark.parametrize("name", MAPS)
def test_maps_predict_the_same_to_the_bit(name, tmp_path):
    pipeline = quietly(make_pipeline(MAPS[name], RidgeClassifier()).fit, X, LABELS)
    model = load_model(save_model(pipeline, tmp_path / "m.skops", schema=Schema.of(X)))
    for rows in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        expected = pipeline.decision_function(rows)
        np.testing.assert_array_equal(model.pipeline.decision_function(rows), expected)


@pytest.mark.parametrize("method", FOR_TABLES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pipelines_of_the_program_predict_the_same(method, task, tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=80),
            "b": rng.choice(["x", "y", None], 80),
            "day": pd.date_range("2020-01-01", periods=80).astype(str),
            "flag": rng.random(80) < 0.5,
        }
    )
    frame.loc[3, "a"] = np.nan
    y = np.where(frame["flag"], "yes", "no") if task == "classification" else X[:, 0]
    pipeline = quietly(make_model(method, frame, y, task, width=8).fit, frame, y)
    path = save_model(pipeline, tmp_path / "m.skops", schema=Schema.of(frame))
    model = load_model(path)
    np.testing.assert_array_equal(model.pipeline.predict(frame), pipeline.predict(frame))
    assert model.schema == Schema.of(frame)


@pytest.mark.parametrize("width", [16, "auto"])
@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_kernel_models_predict_the_same(kernel, width, tmp_path, quick_metric):
    for kind, y in ((bochner.KernelClassifier, LABELS), (bochner.KernelRegressor, X[:, 0])):
        pipeline = kind(width, kernel=kernel, metric="root", random_state=0).fit(X, y).pipeline_
        again = load_model(save_model(pipeline, tmp_path / "m.skops", schema=Schema.of(X)))
        np.testing.assert_array_equal(again.pipeline.predict(X), pipeline.predict(X))


@pytest.mark.parametrize("method", MADE_BY_FIT)
def test_pipelines_of_images_predict_the_same(method, tmp_path):
    rows, y = np.abs(IMAGES).reshape(6, 100).repeat(5, axis=0), np.arange(30) % 3
    model = make_model(method, rows, y, "classification", width=16, image_shape=(10, 10, 1))
    pipeline = quietly(model.fit, rows, y)
    path = save_model(pipeline, tmp_path / "m.skops", schema=Schema.of(rows, pixels=True))
    again = load_model(path).pipeline
    for new in (rows, rows.astype(np.float32), sparse.csr_matrix(rows)):
        expected = pipeline.decision_function(new)
        np.testing.assert_array_equal(again.decision_function(new), expected)


LAYERS = {
    **{
        name: [PatchLayer(3, 4, 2, approximation=name)]
        for name in ("mercer", "fourier", "nystroem", "optimized")
    },
    "gradients": [GradientLayer(4, 2), PatchLayer(2, 4, 2, approximation="fourier")],
    "own": [PatchLayer(3, 4, 2, approximation=OptimizedMap(n_pairs=1000, max_iter=5))],
}


@pytest.mark.parametrize("name", LAYERS)
def test_networks_give_the_same_features(name):
    """Networks that the program does not make, of images that are not flat; skops takes them."""
    network = bochner.ConvolutionalKernelNetwork(layers=LAYERS[name], random_state=0)
    quietly(network.fit, IMAGES)
    again = sio.loads(sio.dumps(network), trusted=sorted(trusted_types()))
    np.testing.assert_array_equal(again.transform(IMAGES), network.transform(IMAGES))


def test_trusted_names_are_classes():
    for name in trusted_types():
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), attribute), type)
    others = {name for name in trusted_types() if not name.startswith("bochner.")}
    sparse_types = {"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"}
    assert others == {"numpy.dtype", *sparse_types}


def test_details_come_back(iris, tmp_path):
    pipeline, rows = iris
    details = {"task": "regression", "classes": np.array(["a", "b"]), "score": np.float64(0.5)}
    model = load_model(
        save_model(pipeline, tmp_path / "m", schema=Schema.of(rows), details=details)
    )
    assert model.details["classes"] == ["a", "b"]
    assert model.details["score"] == 0.5
    assert model.details["versions"]["bochner"] == bochner.__version__
    assert (model.task, model.target) == ("regression", None)
    with pytest.raises(ModelFileError, match=r"details must hold numbers.*builtins.object"):
        save_model(pipeline, tmp_path / "m", schema=Schema.of(rows), details={"a": object()})


def test_a_file_appears_whole_or_not_at_all(iris, tmp_path, monkeypatch):
    pipeline, rows = iris
    path = tmp_path / "m.skops"
    path.write_text("before")

    def broken(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ModelFileError, match="cannot be written: No space left"):
        save_model(pipeline, path, schema=Schema.of(rows))
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["m.skops"]


class OwnKernel:
    """A kernel that a user wrote: code, which a file must not bring along."""

    def __call__(self, X, Y=None):
        return np.ones((len(X), len(X if Y is None else Y)))

    def sample(self, n, d, random_state):
        return random_state.normal(size=(n, d))


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    own = make_pipeline(bochner.FourierFeatures(n_components=4, kernel=OwnKernel()), Ridge())
    with pytest.raises(ModelFileError, match=r"not trusted.*test_files.OwnKernel"):
        save_model(own.fit(X, LABELS), tmp_path / "m", schema=Schema.of(X))
    with pytest.raises(ModelFileError, match="a model is a Pipeline"):
        save_model(Ridge(), tmp_path / "m", schema=Schema.of(X))
    nothing = make_pipeline(FunctionTransformer(lambda X: X), Ridge()).fit(X, LABELS)
    with pytest.raises(ModelFileError):
        save_model(nothing, tmp_path / "m", schema=Schema.of(X))
    assert not os.listdir(tmp_path)


# Damage, by accident


def test_every_flipped_byte_is_noticed(written):
    data = written.read_bytes()
    rng = np.random.default_rng(0)
    ends = [*range(20), *range(len(data) - 120, len(data))]
    for place in [*ends, *rng.integers(0, len(data), 60)]:
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        written.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(written)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_cut_off_files(written, share):
    data = written.read_bytes()
    written.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelFileError, match="not a model file, or is cut off"):
        load_model(written)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_files_of_anything_are_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "anything.skops"
    path.write_bytes(data)
    with pytest.raises(ModelFileError):
        load_model(path)


def test_archives_of_something_else(tmp_path):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModelFileError, match="an archive of something else"):
        load_model(path)
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        load_model(tmp_path / "nowhere.skops")
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        load_model(tmp_path)
    for text in ("[]", "3", "{", '{"__loader__": 3}', '{"protocol": 2}', '{"protocol": 99}'):
        path.write_bytes(rebuilt({"schema.json": text.encode()}))
        with pytest.raises(ModelFileError):
            load_model(path)
    path.write_bytes(rebuilt({"schema.json": b"[" * 100_000}))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)
    Ridge().fit(X, LABELS)
    path.write_bytes(sio.dumps(Ridge().fit(X, LABELS)))
    with pytest.raises(ModelFileError, match="a skops file, but not a model of bochner"):
        load_model(path)


# Changes, on purpose: with a checksum that is right


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rebuilt(contents, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return files._sealed(buffer.getvalue())


def change(path, edit):
    """Rewrite the tree of a file by `edit` and seal it again, as one who means harm would."""
    contents = members(path)
    tree = json.loads(contents["schema.json"])
    tree = edit(tree) or tree
    contents["schema.json"] = json.dumps(tree).encode()
    path.write_bytes(rebuilt(contents))


def test_the_rebuilt_file_itself_is_fine(written):
    change(written, lambda tree: None)
    assert load_model(written).task == "regression"


def nodes(tree, name):
    found = []
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if part.get("__class__") == name:
                found.append(part)
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return found


def test_renamed_types_are_listed(written):
    def rename(tree):
        for node in nodes(tree, "Ridge"):
            node.update({"__module__": "somewhere.else", "__class__": "Better"})

    change(written, rename)
    with pytest.raises(ModelFileError, match=r"not trusted: somewhere.else.Better$"):
        load_model(written)


def test_members_more_or_less(written):
    contents = members(written)
    written.write_bytes(rebuilt({**contents, "more.bin": b"x"}))
    with pytest.raises(ModelFileError, match=r"was changed: more.bin was added"):
        load_model(written)
    array = next(name for name in contents if name.endswith(".npy"))
    written.write_bytes(rebuilt({k: v for k, v in contents.items() if k != array}))
    with pytest.raises(ModelFileError, match="was changed: a member of the archive is missing"):
        load_model(written)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # about what is done here on purpose
        for name, data in [*contents.items(), ("schema.json", contents["schema.json"])]:
            archive.writestr(name, data)
    written.write_bytes(files._sealed(buffer.getvalue()))
    with pytest.raises(ModelFileError, match="was changed"):
        load_model(written)


def test_compressed_members_are_refused(written):
    """Or a file of a few kilobytes could fill the memory."""
    written.write_bytes(rebuilt(members(written), zipfile.ZIP_DEFLATED))
    with pytest.raises(ModelFileError, match="compressed"):
        load_model(written)


def test_a_file_without_checksum(written):
    contents = members(written)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    written.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match="no checksum"):
        load_model(written)


def rewrite_details(edit):
    def apply(tree):
        node = tree["content"]["details"]
        details = json.loads(json.loads(node["content"]))
        edit(details)
        node["content"] = json.dumps(json.dumps(details))

    return apply


def test_versions(written):
    original = written.read_bytes()
    change(written, lambda tree: tree["content"]["format"].update(content="3"))
    with pytest.raises(ModelFileError, match=r"has the format 3.* reads 2"):
        load_model(written)
    written.write_bytes(original)
    change(written, lambda tree: tree["content"]["format"].update(content="1"))
    with pytest.raises(ModelFileError, match=r"format 1 of an earlier version .*train the model"):
        load_model(written)
    written.write_bytes(original)
    change(written, rewrite_details(lambda d: d["versions"].update({"scikit-learn": "0.24.1"})))
    with pytest.raises(ModelFileError, match=r"written with scikit-learn 0.24.1"):
        load_model(written)
    written.write_bytes(original)
    change(written, rewrite_details(lambda d: d["versions"].update({"scikit-learn": "1.2.0"})))
    with pytest.warns(ModelFileWarning, match=r"written with scikit-learn 1.2.0"):
        load_model(written)


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.pop("schema"),
        lambda d: d["schema"].pop("sparse"),
        lambda d: d["schema"].update(columns=[{"name": "a"}]),
        lambda d: d["schema"].update(n_columns="many"),
        lambda d: d.update(versions=3),
    ],
)
def test_forged_details(written, edit):
    change(written, rewrite_details(edit))
    with pytest.raises(ModelFileError):
        load_model(written)


# Code


class Evil(TransformerMixin, BaseEstimator):
    """Runs a command when it is unpickled."""

    def __init__(self, path=None):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_reduce_is_not_called(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "m.skops"
    pipeline = Pipeline([("map", Evil(str(mark))), ("head", Ridge())]).fit(X, LABELS)
    path.write_bytes(sio.dumps({"format": FORMAT, "details": "{}", "pipeline": pipeline}))
    with pytest.raises(ModelFileError, match=r"not trusted: .*test_files.Evil"):
        load_model(path)
    assert not mark.exists()


def text(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def pack(*values):
    return {
        "__class__": "tuple",
        "__module__": "builtins",
        "__loader__": "TupleNode",
        "content": list(values),
    }


def no_keys():
    types = {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": [],
    }
    return {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {},
        "key_types": types,
    }


def system():
    return {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}


def attacks(command):
    """Nodes that would run a command, or hold what does, in all the ways that skops knows."""
    return {
        "function": (system(), "os.system"),
        "type": (
            {"__class__": "Popen", "__module__": "subprocess", "__loader__": "TypeNode"},
            "subprocess.Popen",
        ),
        "constructor": (
            {
                "__class__": "system",
                "__module__": "os",
                "__loader__": "ConstructorFromReduceNode",
                "content": pack(text(command)),
            },
            "os.system",
        ),
        "partial": (
            {
                "__class__": "partial",
                "__module__": "functools",
                "__loader__": "PartialNode",
                "content": {
                    "func": system(),
                    "args": pack(text(command)),
                    "kwds": no_keys(),
                    "namespace": text(None),
                },
            },
            "functools.partial, os.system",
        ),
        "operator": (
            {
                "__class__": "methodcaller",
                "__module__": "operator",
                "__loader__": "OperatorFuncNode",
                "attrs": pack(text("system"), text(command)),
            },
            "operator.methodcaller",
        ),
        "object": (
            {
                "__class__": "Popen",
                "__module__": "subprocess",
                "__loader__": "ObjectNode",
                "content": no_keys(),
            },
            "subprocess.Popen",
        ),
        "method": (
            {
                "__class__": "Ridge",
                "__module__": "sklearn.linear_model._ridge",
                "__loader__": "MethodNode",
                "content": {
                    "func": "fit",
                    "obj": {
                        "__class__": "Ridge",
                        "__module__": "sklearn.linear_model._ridge",
                        "__loader__": "ObjectNode",
                        "content": no_keys(),
                    },
                },
            },
            "sklearn.linear_model._ridge.Ridge.fit",
        ),
        "our function": (
            {"__class__": "fail", "__module__": "bochner.cli", "__loader__": "FunctionNode"},
            "bochner.cli.fail",
        ),
    }


@pytest.mark.parametrize("way", attacks("true"))
def test_code_in_a_file_is_refused_and_listed(written, tmp_path, way):
    mark = tmp_path / "mark"
    node, expected = attacks(f"touch {mark}")[way]

    def hide(tree):
        (scaler,) = nodes(tree, "StandardScaler")
        scaler["content"]["content"]["copy"] = node

    change(written, hide)
    with pytest.raises(ModelFileError, match="not trusted") as caught:
        load_model(written)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not mark.exists()


def test_code_in_the_form_of_old_files(written):
    def hide(tree):
        tree["protocol"] = 0
        (scaler,) = nodes(tree, "StandardScaler")
        scaler["content"]["content"]["copy"] = {
            "__class__": "Ridge",
            "__module__": "sklearn.linear_model._ridge",
            "__loader__": "FunctionNode",
            "content": {"module_path": "os", "function": "system"},
        }

    change(written, hide)
    with pytest.raises(ModelFileError, match=r"not trusted: os.system"):
        load_model(written)


def test_foreign_modules_are_not_even_imported(written, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    (tmp_path / "malicious.py").write_text(f"open({str(mark)!r}, 'w')\nclass Thing: pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    def hide(tree):
        for node in nodes(tree, "Ridge"):
            node.update({"__module__": "malicious", "__class__": "Thing"})

    change(written, hide)
    with pytest.raises(ModelFileError, match=r"malicious.Thing"):
        load_model(written)
    assert not mark.exists()
    assert "malicious" not in sys.modules


def test_pickles_within_arrays_are_refused(written, tmp_path):
    mark = tmp_path / "mark"
    contents = members(written)
    name = next(name for name in contents if name.endswith(".npy"))
    buffer = io.BytesIO()
    np.save(buffer, np.array([Evil(str(mark))], object), allow_pickle=True)
    written.write_bytes(rebuilt({**contents, name: buffer.getvalue()}))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(written)
    assert not mark.exists()


# Contents that trusted types must not have


def replace_array(path, cls, attribute, edit):
    """Change the array of an attribute of the object of a class."""
    contents = members(path)
    tree = json.loads(contents["schema.json"])
    node = nodes(tree, cls)[0]["content"]["content"][attribute]
    array = np.load(io.BytesIO(contents[node["file"]]))
    buffer = io.BytesIO()
    np.save(buffer, edit(array))
    contents[node["file"]] = buffer.getvalue()
    path.write_bytes(rebuilt(contents))


def at(index, value):
    def edit(array):
        array[index] = value
        return array

    return edit


@pytest.mark.parametrize(
    ("cls", "attribute", "edit"),
    [
        ("Products", "parents", at(3, 10**6)),
        ("Products", "parents", at(3, -5)),
        ("Products", "parents", at(3, 3)),
        ("Products", "parents", at(0, 0)),
        ("Products", "parents", lambda a: a[:-1]),
        ("Products", "parents", lambda a: a.astype(float)),
        ("Products", "axes", at(3, 100)),
        ("Products", "axes", at(3, -2)),
        ("Products", "orders", at(3, 2**40)),
        ("Products", "orders", at(3, 0)),
        ("GaussianPlan", "ratios", lambda a: a[:-1]),
        ("GaussianPlan", "mean", lambda a: a[:-1]),
        ("GaussianPlan", "rotation", lambda a: a[:, :1]),
        ("GaussianPlan", "rotation", lambda a: a.ravel()),
    ],
)
def test_indices_that_point_nowhere_are_refused(written, cls, attribute, edit):
    """A compiled loop would follow them without looking."""
    replace_array(written, cls, attribute, edit)
    with pytest.raises(ModelFileError, match="do not fit each other"):
        load_model(written)


def test_empty_plans_are_refused(written):
    contents = members(written)
    tree = json.loads(contents["schema.json"])
    for attribute in ("parents", "axes", "orders", "log_values"):
        node = nodes(tree, "Products")[0]["content"]["content"][attribute]
        buffer = io.BytesIO()
        np.save(buffer, np.load(io.BytesIO(contents[node["file"]]))[:0])
        contents[node["file"]] = buffer.getvalue()
    written.write_bytes(rebuilt(contents))
    with pytest.raises(ModelFileError, match="MercerFeatures do not fit"):
        load_model(written)


def test_attributes_do_not_replace_methods(written):
    def hide(tree):
        (products,) = nodes(tree, "Products")
        content = products["content"]
        content["content"]["n_orders"] = {
            "__class__": "sign",
            "__module__": "numpy",
            "__loader__": "FunctionNode",
        }
        content["key_types"]["content"].append(content["key_types"]["content"][0])

    change(written, hide)
    with pytest.raises(ModelFileError, match="Products do not fit"):
        load_model(written)


def test_another_type_in_place_of_a_plan(written):
    def swap(tree):
        (mercer,) = nodes(tree, "MercerFeatures")
        mercer["content"]["content"]["_plan"].update(
            {"__module__": "bochner.targets", "__class__": "Target"}
        )

    change(written, swap)
    with pytest.raises(ModelFileError, match="MercerFeatures do not fit"):
        load_model(written)


def test_sparse_landmarks_that_point_nowhere(tmp_path):
    landmarks = sparse.csr_matrix(np.eye(3))
    pipeline = make_pipeline(
        bochner.LandmarkSimilarities(landmarks=landmarks, posterior=None), RidgeClassifier()
    ).fit(X, LABELS)
    path = save_model(pipeline, tmp_path / "m.skops", schema=Schema.of(X))
    contents = members(path)
    for name in [name for name in contents if name.endswith(".npz")]:
        forged = sparse.csr_matrix(np.eye(3))
        forged.indices[1] = 10**6
        buffer = io.BytesIO()
        sparse.save_npz(buffer, forged)
        contents[name] = buffer.getvalue()
    path.write_bytes(rebuilt(contents))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)


def test_a_machine_alone_is_no_model(written):
    def strip(tree):
        (ridge,) = nodes(tree, "Ridge")
        tree["content"]["pipeline"] = ridge

    contents = members(written)
    tree = json.loads(contents["schema.json"])
    strip(tree)
    used = {"schema.json", *files._files(tree)}
    contents = {name: data for name, data in contents.items() if name in used}
    contents["schema.json"] = json.dumps(tree).encode()
    written.write_bytes(rebuilt(contents))
    with pytest.raises(ModelFileError, match="no pipeline"):
        load_model(written)


def test_reading_does_not_import_libraries_of_arrays(monkeypatch):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with files._without_libraries_of_arrays(), pytest.raises(ImportError):
        import cupy  # noqa: F401
    assert "cupy" not in sys.modules
