import json

import numpy as np
import pytest

from bochner.data.local import LocalDataset
from bochner.images.layers import ARCHITECTURES, PatchLayer
from bochner.images.optimized import OptimizedMap
from bochner.linear import SquaredHingeClassifier
from bochner.papers.groups import Groups
from bochner.papers.mukuta import networks
from bochner.papers.mukuta.covariance import FIGURE5, correlation, off_diagonal
from bochner.papers.mukuta.fewer_maps import FIGURE6
from bochner.papers.mukuta.networks import (
    MERCER,
    METHODS,
    NYSTROEM,
    OPTIMIZED,
    RANDOM,
    architecture,
    load_part,
)
from bochner.papers.mukuta.table2 import TABLE2, claims
from bochner.papers.study import Request
from bochner.records.cells import Cell, Result
from tests.papers.mukuta import planned


@pytest.fixture
def pictures(monkeypatch, rng):
    """Images of ten classes, told apart by the direction and the width of their stripes."""
    grid = np.arange(12)

    def draw(n):
        y = np.arange(n) % 10
        angle, length = (y % 5) * np.pi / 5, np.where(y < 5, 3.0, 5.0)
        phase = rng.uniform(0, 2 * np.pi, n)
        position = (
            np.cos(angle)[:, None, None] * grid[:, None] + np.sin(angle)[:, None, None] * grid
        )
        waves = np.sin(2 * np.pi * position / length[:, None, None] + phase[:, None, None])
        noise = rng.normal(0, 0.2, size=waves.shape)
        return np.clip(127 + 60 * (waves + noise), 0, 255).astype(np.uint8), y

    X, y = draw(300)
    X_test, y_test = draw(100)
    data = LocalDataset("mnist", X, y, X_test, y_test)
    small = {"mnist-pm": (PatchLayer(3, 12, 2), PatchLayer(2, 20, 2))}
    monkeypatch.setattr(networks, "load_images", lambda name: data)
    monkeypatch.setattr(networks, "ARCHITECTURES", {**ARCHITECTURES, **small})
    monkeypatch.setitem(METHODS, OPTIMIZED, OptimizedMap(n_pairs=2000, max_iter=30))
    yield data
    load_part.cache_clear()
    networks._all_images.cache_clear()


@pytest.mark.parametrize("method", METHODS)
def test_a_network_tells_stripes_apart(method, pictures):
    result = TABLE2.measure(Cell("table2", "mnist-pm", method, None, 0))
    assert result.score > 0.9
    assert result.details["quantile"] in (0.02, 0.1)
    assert result.details["columns"] == 2 * 2 * 20
    assert result.fit > 0
    json.dumps(result.details)


def test_labels_of_the_test_images_play_no_part(pictures, monkeypatch):
    cell = Cell("table2", "mnist-pm", RANDOM, None, 0)
    first = TABLE2.measure(cell)
    swapped = LocalDataset(
        "mnist", pictures.X_train, pictures.y_train, pictures.X_test, 9 - pictures.y_test
    )
    monkeypatch.setattr(networks, "load_part", lambda *arguments: swapped)
    second = TABLE2.measure(cell)
    names = ("C", "held out", "quantile")
    assert [first.details[n] for n in names] == [second.details[n] for n in names]
    assert second.score < first.score


def test_a_width_is_the_number_of_maps_of_the_last_layer(pictures):
    assert architecture("mnist-pm", 6)[0] == architecture("mnist-pm")[0]
    result = FIGURE6.measure(Cell("maps", "mnist-pm", MERCER, 6, 0))
    assert result.details["columns"] == 2 * 2 * 6
    assert result.details["quantile"] == 0.1


def test_on_tensors(pictures):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    cell = Cell("table2", "mnist-pm", NYSTROEM, None, 0)
    host, there = (
        TABLE2.measure(cell),
        TABLE2.measure(cell, device="cpu:0"),
    )  # PyTorch's name of the host
    assert abs(there.score - host.score) <= 0.03
    assert abs(there.details["held out"] - host.details["held out"]) <= 0.06


def test_fewer_images(pictures):
    few = load_part("mnist", 100, 3)
    assert few.X_train.shape == (100, 12, 12)
    assert len(few.y_test) == 50
    again = load_part("mnist", 100, 3)
    np.testing.assert_array_equal(few.X_train, again.X_train)
    assert load_part("mnist", 1000, 3) is pictures


def test_unknown_method(pictures):
    with pytest.raises(ValueError, match="there is no method 'magic'; there are optimized"):
        TABLE2.measure(Cell("table2", "mnist-pm", "magic", None, 0))


def test_the_penalty_is_chosen_on_held_out_images(pictures):
    measured = FIGURE6.measure(Cell("maps", "mnist-pm", RANDOM, 6, 0))
    network, _ = networks.fitted(Cell("maps", "mnist-pm", RANDOM, 6, 0), pictures.X_train, 0.1)
    features, y = network.transform(pictures.X_train), pictures.y_train
    order = np.random.RandomState(0).permutation(300)
    held, kept = order[:50], order[50:]
    share = 250 / 300
    C = measured.details["C"] / share
    assert min(abs(C - penalty) for penalty in networks.PENALTIES) < 1e-9

    def score(C):
        model = SquaredHingeClassifier(C=C).fit(features[kept], y[kept])
        return model.score(features[held], y[held])

    assert measured.details["held out"] == pytest.approx(score(C), abs=0.03)
    assert all(score(C) >= score(other) - 0.03 for other in networks.PENALTIES[:5])


def test_covariance_of_features(pictures):
    mercer, optimized = (
        FIGURE5.measure(Cell("covariance", "mnist-pm", method, None, 0))
        for method in (MERCER, OPTIMIZED)
    )
    assert 0 < mercer.score < optimized.score < 1
    assert 0 < mercer.details["maps"] <= 1


def test_correlations_against_numpy(rng):
    features = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6)) + 3
    features[:, 2] = 7  # does not vary
    expected = np.corrcoef(np.delete(features, 2, axis=1).T)
    np.testing.assert_allclose(correlation(features), expected, atol=1e-12)
    apart = expected[~np.eye(5, dtype=bool)]
    assert off_diagonal(features) == pytest.approx(np.sqrt(np.mean(apart**2)), abs=1e-7)
    assert len(correlation(features, most=4)) == 3


def result(task, method, score, seed=0, fit=1.0, width=None, max_train=None, **details):
    cell = Cell("table2", task, method, width, seed, max_train)
    given = {"columns": 10.0, "transform": 1.0, "quantile": 0.1, "C": 1.0}
    return Result(cell, score, fit, 2.0, {**given, **details})


def test_table_has_the_published_numbers_beside_ours():
    results = [result("mnist-pm", MERCER, 0.99), result("cifar-pm", NYSTROEM, 0.8)]
    (section,) = TABLE2.sections(results)
    rows = [tuple(map(str, row[:4])) for row in section.rows]
    assert rows[1] == ("mnist-pm", MERCER, "99.00", "99.36 .. 99.51")
    assert rows[2] == ("cifar-pm", NYSTROEM, "80.00", "75.72 .. 81.52")
    assert "CIFAR-100 and SVHN" in "".join(section.lines)


@pytest.mark.parametrize(
    ("max_train", "noise"),
    [(None, "0.1 on MNIST, 0.4 on CIFAR-10."), (600, "0.6 on MNIST, 2 on CIFAR-10.")],
)
def test_noise_is_that_of_the_test_images(max_train, noise):
    # sqrt(0.99 0.01 / 10000) = 0.0010, sqrt(0.8 0.2 / 10000) = 0.004; / 300: 0.0057, 0.023
    results = [
        result("mnist-pm", MERCER, 0.99, max_train=max_train),
        result("cifar-pm", NYSTROEM, 0.8, max_train=max_train),
    ]
    assert f"have a noise of {noise}" in "\n".join(TABLE2.sections(results)[0].lines)


def test_lines_are_whole_sentences():
    results = [result("mnist-pm", MERCER, 0.99, maps=0.1, max_train=600)]
    for line in (*TABLE2.sections(results)[0].lines, *FIGURE5.sections(results)[0].lines):
        assert line.endswith((".", ")"))
        assert not line[0].islower()


def test_claims_can_fail():
    results = [
        result("mnist-pm", method, score, fit=fit)
        for method, score, fit in ((MERCER, 0.99, 3), (OPTIMIZED, 0.98, 2), (RANDOM, 0.995, 1))
    ]
    better, random, nystroem, quicker = claims(Groups(results))
    assert not better.exceptions
    assert random.exceptions == ["mnist-pm: -0.5"]
    assert not nystroem.checked
    assert quicker.exceptions


def test_figure_with_fewer_maps():
    results = [
        result("cifar-pm", method, score + width / 1e5, seed, width=width)
        for method, score in ((MERCER, 0.8), (RANDOM, 0.7))
        for width in (200, 800)
        for seed in (0, 1)
    ]
    (section,) = FIGURE6.sections(results)
    assert section.rows[0] == ("approximation", "200 maps", "800 maps")
    assert {series.name for series in section.chart.series} == {MERCER, RANDOM}
    assert [claim.verdict for claim in section.claims] == ["confirmed"]


@pytest.mark.parametrize("study", [FIGURE5, FIGURE6, TABLE2], ids=lambda study: study.name)
def test_plans(study):
    cells = planned(study, Request(study.tasks, study.full.seeds))
    assert len(set(cells)) == len(cells)
    assert {cell.method for cell in cells} == set(METHODS)
    quick = planned(study, Request(study.quick.tasks, study.quick.seeds, True))
    assert all(cell.max_train for cell in quick)
    assert len(quick) < len(cells)
