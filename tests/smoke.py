"""A short walk through an installed package: ``python smoke.py EXTRA``, outside of the repository.

Not collected by pytest: `.ci/dist.py` runs it in environments that hold the wheel with one extra.
"""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.pipeline import make_pipeline

import bochner
from bochner.linear import RidgeClassifier

X, y = make_classification(200, 6, random_state=0)


def run(*arguments):
    """What the program prints, and whether it ended well."""
    command = [sys.executable, "-m", "bochner", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def core():
    """Every map, a model, pickle; the program says what is missing."""
    rows, labels = load_breast_cancer(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    model = bochner.KernelClassifier(random_state=0).fit(rows[:300], labels[:300])
    assert model.score(rows[300:], labels[300:]) > 0.9
    for name in bochner.__all__:
        estimator = getattr(bochner, name)
        if name.endswith("Features") or name == "LandmarkSimilarities":
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            features = estimator(n_components=16, random_state=0).fit(unit[:, :4], y)
            again = pickle.loads(pickle.dumps(features))
            np.testing.assert_array_equal(
                again.transform(unit[:, :4]), features.transform(unit[:, :4])
            )
    code, text = run("--version")
    assert code == 1, text
    assert "pip install 'bochner[cli]'" in text, text


def cli():
    """Train, save, load and predict with the program, and the page of a comparison."""
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "table.csv"), Path(folder, "model.skops")
        lines = [
            "a,b,c,d,e,f,label",
            *(",".join(map(str, [*x, t])) for x, t in zip(X, y, strict=True)),
        ]
        table.write_text("\n".join(lines) + "\n")
        code, text = run("--version")
        assert (code, text.strip()) == (0, f"bochner {bochner.__version__}"), text
        options = ("--method", "FourierFeatures", "--width", 32, "--output", model)
        code, text = run("fit", table, "--target", "label", *options)
        assert code == 0, text
        code, text = run("predict", model, table, "--output", Path(folder, "predictions.csv"))
        assert code == 0, text
        assert len(Path(folder, "predictions.csv").read_text().splitlines()) == len(X) + 1
        from bochner.models.files import load_model

        assert load_model(model).pipeline.predict is not None
        only = ("--method", "FourierFeatures", "--widths", 16, "--output", Path(folder, "out"))
        code, text = run("compare", table, "--target", "label", *only)
        assert code == 0, text
        assert list(Path(folder, "out").rglob("page.html")), text


def gpu():
    """Rows as PyTorch tensors give the features of NumPy rows."""
    import torch

    features = bochner.FourierFeatures(n_components=32, random_state=0).fit(X)
    out = features.transform(torch.asarray(X))
    assert isinstance(out, torch.Tensor)
    np.testing.assert_allclose(out.numpy(), features.transform(X), atol=1e-12)


def dask():
    """Rows as dask arrays give lazy features of the same values."""
    import dask.array as da

    features = bochner.FourierFeatures(n_components=32, random_state=0).fit(X)
    out = features.transform(da.from_array(X, chunks=(50, 6)))
    np.testing.assert_allclose(out.compute(), features.transform(X), atol=1e-12)


def onnx():
    """A pipeline as a graph decides as in Python."""
    import onnxruntime

    from bochner.models.onnx.pipelines import to_onnx

    model = make_pipeline(
        bochner.FourierFeatures(n_components=32, random_state=0), RidgeClassifier()
    ).fit(X, y)
    graph = to_onnx(model, X)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels = session.run(None, {session.get_inputs()[0].name: X})[0]
    assert np.mean(labels == model.predict(X)) > 0.99


def plots():
    """A figure on file."""
    from bochner.plots import decision_regions

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figure.png")
        decision_regions(X[:, :2], y * 2 - 1, lambda rows: rows[:, 0]).savefig(path)
        assert path.stat().st_size > 1000


if __name__ == "__main__":
    root = Path(bochner.__file__).resolve()
    assert "site-packages" in root.parts, f"not the installed package: {root}"
    {"core": core, "cli": cli, "gpu": gpu, "dask": dask, "onnx": onnx, "plots": plots}[
        sys.argv[1]
    ]()
    print(f"{sys.argv[1]}: bochner {bochner.__version__} works")
