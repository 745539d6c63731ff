"""Images in a comparison: one scale for all pixels, the network, and what was learned."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from bochner.compare.document import make_document
from bochner.compare.measure import Measurer, make_split
from bochner.compare.pictures import patches as comparison_patches
from bochner.compare.pictures.patches import different, grey, patches
from bochner.compare.plan import Setup, fingerprint, plan_cells, split_rows
from bochner.data.tables import Table, take_rows
from bochner.linear.scoring import MEASURES
from bochner.models.methods import METHODS
from bochner.models.pipelines import make_model
from bochner.models.training import train
from bochner.records.cells import Cell

NETWORK = "ConvolutionalKernelNetwork"
DRAWN = ("MarginFourierFeatures", "PosteriorFourierFeatures", NETWORK)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    table = Table("digits", X[:400], y[:400], "classification", None, 400, (), (8, 8, 1))
    return Setup(table, MEASURES["accuracy"])


@pytest.fixture(scope="module")
def results(digits):
    measurer = Measurer(digits)
    return [measurer(cell(method, width)) for method in DRAWN for width in (16, 32)]


def cell(method, width=32, seed=0):
    return Cell("x", "task", method, width, seed)


def fit_again(setup, result):
    """The model of a cell as a pipeline, with the settings that were chosen."""
    training, _ = split_rows(setup, 0)
    X, y = take_rows(setup.table.X, training), setup.table.y[training]
    model = make_model(
        result.cell.method,
        X,
        y,
        setup.table.task,
        width=result.cell.width,
        image_shape=setup.table.image_shape,
        **result.details["chosen"],
    )
    return model.fit(X, y)


def with_shape(setup, shape):
    return dataclasses.replace(setup, table=dataclasses.replace(setup.table, image_shape=shape))


def test_prepared_rows_share_one_scale(digits):
    rows = make_split(digits, 0)
    X = digits.table.X[rows.training]
    np.testing.assert_allclose(rows.problem.X, (X - X.mean()) / X.std(), atol=1e-12)
    assert rows.problem.image_shape == (8, 8, 1)


def test_the_shape_is_part_of_the_fingerprint(digits):
    names = {fingerprint(with_shape(digits, shape)) for shape in (None, (8, 8, 1), (4, 16, 1))}
    assert len(names) == 3


def test_the_network_learns(digits, results):
    found = {result.cell.width: result for result in results if result.cell.method == NETWORK}
    assert found[32].score > 0.97
    chosen = found[32].details["chosen"]
    assert set(chosen) == {"quantile", "C"}
    assert chosen["quantile"] in METHODS[NETWORK].grid["quantile"]


def test_the_network_learns_numbers(digits):
    table = dataclasses.replace(digits.table, y=digits.table.y * 1.0, task="regression")
    assert Measurer(Setup(table, MEASURES["R2"]))(cell(NETWORK)).score > 0.8


def test_the_network_on_a_device(digits):
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    there = dataclasses.replace(digits, device="cpu:0")  # PyTorch's
    here, away = (Measurer(setup)(cell(NETWORK)) for setup in (digits, there))
    assert away.score == pytest.approx(here.score, abs=0.03)


def test_plan(digits):
    cells, left_out = plan_cells(digits, [NETWORK], [14, 16, 32], 1)
    assert [each.width for each in cells] == [16, 32]
    assert left_out == [
        f"{NETWORK} with 14 columns: 14 columns are shared by a grid of 2 x 2: a multiple of 4 is "
        "needed, from 16 on"
    ]
    cells, (reason,) = plan_cells(with_shape(digits, None), [NETWORK], [16, 32], 1)
    assert not cells
    assert reason.startswith(f"{NETWORK} is for images")


@pytest.mark.parametrize("frame", [False, True])
def test_what_was_chosen_makes_the_same_model(digits, frame):
    X = pd.DataFrame(digits.table.X) if frame else digits.table.X
    setup = dataclasses.replace(digits, table=dataclasses.replace(digits.table, X=X))
    measurer = Measurer(setup)
    learned, rows = measurer.learn(cell(NETWORK))
    model = fit_again(setup, measurer(cell(NETWORK)))
    test = X.iloc[rows.test] if frame else X[rows.test]
    np.testing.assert_array_equal(model.predict(test), learned.predict(rows.X_test))


def test_settings_for_one_model(digits):
    trained = train(digits.table, NETWORK, width=32)
    assert set(trained.chosen) == {"quantile", "C"}
    assert trained.pipeline.named_steps["map"].quantile == trained.chosen["quantile"]
    assert trained.score > 0.9


def test_patches(digits, results):
    drawn = patches(digits, results)
    assert [each["method"] for each in drawn] == list(DRAWN)
    for each in drawn:
        best = max(
            (result for result in results if result.cell.method == each["method"]),
            key=lambda result: result.score,
        )
        assert each["width"] == best.cell.width
        images = np.array(each["images"])
        # two columns a frequency; and a centred patch of nine has eight directions
        n, side = (8, 3) if each["method"] == NETWORK else (best.cell.width // 2, 8)
        assert images.shape[0] <= n
        assert images.shape[1:] == (side, side)
        assert images.min() >= 0
        np.testing.assert_allclose(images.max(axis=(1, 2)), 1.0)  # the sign is chosen so
        assert "grey is zero" in each["caption"]
    document = make_document(
        digits, results, command="bochner", seconds=1.0, pictures={"patches": drawn}
    )
    assert document["data"]["image_shape"] == [8, 8, 1]
    assert "Images of 8 x 8 pixels" in document["data"]["notes"][0]


def test_patches_are_what_the_maps_learned(digits, results):
    """Frequencies in their order, and axes that are orthogonal and have no mean."""
    margin, _, network = patches(digits, results)
    result = max(results[:2], key=lambda result: result.score)
    model = fit_again(digits, result)
    first = model.named_steps["map"].frequencies_[:, 0]
    shown = np.array(margin["images"][0]).ravel() - 0.5
    assert abs(shown @ first) == pytest.approx(
        np.linalg.norm(shown) * np.linalg.norm(first), rel=1e-3
    )
    axes = np.array(network["images"]).reshape(8, 9) - 0.5
    np.testing.assert_allclose(axes.sum(axis=1), 0, atol=0.01)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    np.testing.assert_allclose(axes @ axes.T, np.eye(8), atol=0.01)


def test_patches_of_colours(digits):
    """Two channels of four by eight: pictures are the mean over the channels."""
    setup = with_shape(digits, (8, 4, 2))
    drawn = patches(setup, [Measurer(setup)(cell(method, 16)) for method in DRAWN])
    assert [np.shape(each["images"])[1:] for each in drawn] == [(8, 4), (8, 4), (3, 3)]
    assert all("mean over the channels" in each["caption"] for each in drawn)


def test_no_patches(digits, results):
    setup = with_shape(digits, None)
    assert patches(setup, [Measurer(setup)(cell("PosteriorFourierFeatures", 16))]) == []
    later = [dataclasses.replace(one, cell=cell(one.cell.method, seed=1)) for one in results]
    assert patches(digits, later) == []


def test_grey():
    pattern = np.array([[[1.0, -1.0], [4.0, 2.0]], [[0.0, 0.0], [-4.0, -2.0]]])
    np.testing.assert_allclose(grey(pattern), 0.5 + np.array([[0, 3], [0, -3]]) / 8)
    assert grey(np.zeros((2, 2, 1))).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    small = grey(np.random.RandomState(0).normal(size=(300, 200, 3)))
    assert small.size <= comparison_patches._MOST_PIXELS


def test_frequencies_that_look_alike_are_shown_once(rng):
    W = rng.normal(size=(50, 4))
    mixed = np.column_stack([W[:, 0], -3 * W[:, 0], W, 0.5 * W[:, 3] + 0.01 * W[:, 1]])
    np.testing.assert_array_equal(different(mixed), W)
    assert different(rng.normal(size=(50, 40)), 7).shape == (50, 7)
