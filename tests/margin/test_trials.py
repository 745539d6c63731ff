"""Settings to try, and the rule by which one is chosen."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from bochner.engine import plain
from bochner.margin.players import columns_of
from bochner.margin.trials import (
    Setting,
    choose,
    grid,
    held_out_losses,
    usual_strength,
)
from bochner.targets import Target
from tests.places import PLACES

TWO, MANY, NUMBERS = Target(np.array([0, 1])), Target(np.array([0, 1, 2])), Target(None)
TARGETS = {"two": TWO, "many": MANY, "numbers": NUMBERS}


class TestGrid:
    @pytest.mark.parametrize("target", list(TARGETS))
    @pytest.mark.parametrize("dual_update", ["corrective", "gradient"])
    @pytest.mark.parametrize("band", [None, 3.0])
    def test_nothing_to_choose_when_everything_is_given(self, target, dual_update, band):
        assert grid(TARGETS[target], dual_update, band, 0.7) == [Setting(dual_update, band, 0.7)]

    @pytest.mark.parametrize("target", list(TARGETS))
    def test_the_default_is_first_and_the_others_change_one_thing(self, target):
        first, *others = grid(TARGETS[target], "auto", "auto", "auto")
        assert first == Setting("corrective", 12.0, 0.3 if target == "two" else 1.0)
        assert others
        for other in others:
            # a gradient step has its own size: with the update it is one thing
            changed = (
                other.band != first.band,
                (other.dual_update, other.damping) != (first.dual_update, first.damping),
            )
            assert sum(changed) == 1

    @pytest.mark.parametrize("target", list(TARGETS))
    def test_what_is_given_stays_and_none_comes_twice(self, target):
        choices = itertools.product(
            ["auto", "corrective", "gradient"], ["auto", None, 5.0], ["auto", 0.3, 0.7]
        )
        for dual_update, band, damping in choices:
            found = grid(TARGETS[target], dual_update, band, damping)
            assert len(set(found)) == len(found)
            for setting in found:
                assert setting.dual_update in ("corrective", "gradient")
                assert setting.band is None or setting.band > 0
                assert 0 < setting.damping <= 1
                assert dual_update in ("auto", setting.dual_update)
                assert band == "auto" or setting.band == band
                assert damping in ("auto", setting.damping)
            # each thing left open has an alternative
            assert len({s.band for s in found}) == 1 + (band == "auto")
            assert len({s.dual_update for s in found}) == 1 + (dual_update == "auto")
            if damping == "auto" and dual_update != "gradient":
                corrective = {s.damping for s in found if s.dual_update == "corrective"}
                assert len(corrective) == 2


@pytest.mark.parametrize(("target", "strength"), [("two", 100), ("many", 5000), ("numbers", 5000)])
def test_usual_strength(target, strength):
    assert usual_strength(TARGETS[target]) == strength


def losses_table(*rows):
    """A function from the settings, in their order, to given losses."""
    names = [Setting("corrective", float(k + 1), 0.5) for k in range(len(rows))]
    table = dict(zip(names, rows, strict=True))
    return names, table.__getitem__


class TestChoose:
    def test_the_only_one(self):
        names, losses = losses_table(np.array([1.0, 3.0]))
        assert choose(names, losses) == (names[0], [(names[0], 2.0)])

    def test_clearly_better_is_taken(self, rng):
        base = rng.uniform(1, 2, size=50)
        names, losses = losses_table(base, base + 0.1, base - 0.1, base - 0.3, base - 0.2)
        chosen, table = choose(names, losses)
        assert chosen == names[3]
        assert [setting for setting, _ in table] == names
        np.testing.assert_allclose([loss for _, loss in table], [losses(s).mean() for s in names])

    def test_equal_keeps_the_default(self):
        base = np.arange(5.0)
        names, losses = losses_table(base, base, base[::-1])
        assert choose(names, losses)[0] == names[0]

    @pytest.mark.parametrize(("lead", "expected"), [(0.99, 0), (1.01, 1)])
    def test_better_by_a_standard_error(self, lead, expected, rng):
        """The error is that of the paired difference, sd / sqrt(n)."""
        n = 40
        noise = rng.normal(size=n)
        noise = (noise - noise.mean()) / noise.std(ddof=1)
        base = rng.normal(5, 3, size=n)  # what the rows have in common does not count
        names, losses = losses_table(base, base + noise - lead / np.sqrt(n))
        assert choose(names, losses)[0] == names[expected]

    def test_the_lowest_does_not_count_if_it_is_not_clear(self, rng):
        noise = np.r_[np.ones(20), -np.ones(20)] * 10
        base = rng.uniform(1, 2, size=40)
        names, losses = losses_table(base, base + noise - 0.5, base - 0.2)
        assert choose(names, losses)[0] == names[2]

    @settings(deadline=None, max_examples=100)
    @given(n=st.integers(2, 20), k=st.integers(1, 5), seed=st.integers(0, 10**6))
    def test_agrees_with_a_slow_rule(self, n, k, seed):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(k, n)) + rng.normal(0, 0.5, size=(k, 1))
        names, losses = losses_table(*rows)
        allowed = [(rows[0].mean(), 0)]
        for j in range(1, k):
            difference = [rows[j][i] - rows[0][i] for i in range(n)]
            mean = sum(difference) / n
            variance = sum((x - mean) ** 2 for x in difference) / (n - 1)
            if mean < -((variance / n) ** 0.5):
                allowed.append((rows[j].mean(), j))
        assert choose(names, losses)[0] == names[min(allowed)[1]]

    def test_one_held_out_row(self):
        names, losses = losses_table(np.array([2.0]), np.array([3.0]))
        assert choose(names, losses)[0] == names[0]

    def test_every_setting_is_asked_once(self):
        names, losses = losses_table(*np.zeros((4, 3)))
        asked = []
        choose(names, lambda setting: asked.append(setting) or losses(setting))
        assert asked == names


def labelled(kind, rng, n=300):
    """Rows and labels that depend on the wave of frequency (2, 0)."""
    X = rng.uniform(-3, 3, size=(n, 2))
    wave = np.sin(2 * X[:, 0])
    y = {
        "two": (wave > 0).astype(int),
        "many": np.digitize(wave, [-0.5, 0.5]),
        "numbers": wave + 0.1 * rng.normal(size=n),
    }[kind]
    return X, columns_of(TARGETS[kind], y)


GOOD, BAD = np.array([[2.0], [0.0]]), np.array([[0.0], [5.0]])


class TestHeldOutLosses:
    def losses(self, kind, frequencies, X, columns, put=np.asarray, **options):
        parts = [put(part) for part in (X[:200], columns[:200], X[200:], columns[200:])]
        return held_out_losses(TARGETS[kind], [frequencies], *parts, **options)[0]

    @pytest.mark.parametrize("kind", list(TARGETS))
    def test_a_good_frequency_has_the_lower_loss(self, kind, rng):
        X, columns = labelled(kind, rng)
        good, bad = (self.losses(kind, w, X, columns) for w in (GOOD, BAD))
        for losses in (good, bad):
            assert losses.shape == (100,)
            assert losses.dtype == np.float64
            assert np.isfinite(losses).all()
            assert (losses >= 0).all()
        difference = bad - good
        assert difference.mean() > 5 * difference.std() / 10

    @pytest.mark.parametrize("kind", ["many", "numbers"])
    def test_squared_error_is_that_of_the_best_ridge(self, kind, rng):
        X, columns = labelled(kind, rng)
        frequencies = rng.normal(size=(2, 3))
        features = plain.features(X, frequencies, scale=3**-0.5)
        tried = []
        for factor in (1, 10, 100, 1000):
            alpha = 200 / (2 * 5000.0 * factor)
            machine = Ridge(alpha=alpha, solver="svd").fit(features[:200], columns[:200])
            rest = columns[200:] - machine.predict(features[200:]).reshape(100, -1)
            tried.append((rest**2).sum(axis=1))
        expected = min(tried, key=np.mean)
        found = self.losses(kind, frequencies, X, columns)
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_squared_hinge_is_that_of_the_best_machine(self, rng):
        X, columns = labelled("two", rng)
        y = columns[:, 0]
        frequencies = np.column_stack([GOOD, BAD])
        features = np.c_[plain.features(X, frequencies, scale=2**-0.5), np.ones(300)]

        def lacking(v, part):
            return np.maximum(0, 1 - y[part] * (features[part] @ v))

        learn, held = slice(0, 200), slice(200, 300)
        tried = []
        for C in 100 / 200 * np.array([1, 10, 100, 1000]):
            v = minimize(
                lambda v, C=C: v[:-1] @ v[:-1] / 2 + C * (lacking(v, learn) ** 2).sum(),
                np.zeros(5),
                jac=lambda v, C=C: (
                    np.r_[v[:-1], 0] - 2 * C * features[learn].T @ (y[learn] * lacking(v, learn))
                ),
                method="BFGS",
                options={"gtol": 1e-8, "maxiter": 1000},
            ).x
            tried.append(lacking(v, held) ** 2)
        expected = min(tried, key=np.mean)
        found = self.losses("two", frequencies, X, columns)
        # six Newton steps for each machine
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize("kind", list(TARGETS))
    @pytest.mark.parametrize("place", ["torch", "strict"])
    def test_the_same_in_every_place(self, kind, place, rng):
        X, columns = labelled(kind, rng)
        frequencies = rng.normal(size=(2, 3))
        expected = self.losses(kind, frequencies, X, columns)
        put = PLACES[place]
        found = self.losses(kind, put(frequencies), X, columns, put=put)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("kind", list(TARGETS))
    def test_threads_do_not_matter(self, kind, rng):
        X, columns = labelled(kind, rng)
        one, two = (self.losses(kind, GOOD, X, columns, n_threads=n) for n in (1, 2))
        np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("kind", list(TARGETS))
    def test_the_frequency_zero_predicts_the_mean(self, kind, rng):
        X, columns = labelled(kind, rng)
        losses = self.losses(kind, np.zeros((2, 1)), X, columns)
        assert np.isfinite(losses).all()
        if kind != "two":
            expected = ((columns[200:] - columns[:200].mean(axis=0)) ** 2).sum(axis=1)
            np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-12)

    def test_a_class_that_is_not_held_out(self, rng):
        X, columns = labelled("many", rng)
        held = columns[200:, 0] == 0
        parts = X[:200], columns[:200], X[200:][held], columns[200:][held]
        losses = held_out_losses(MANY, [GOOD], *parts)[0]
        assert losses.shape == (held.sum(),)
        assert np.isfinite(losses).all()
