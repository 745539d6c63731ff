"""The search for the largest products against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bochner.mercer.products import geometric_costs, select_products


def brute_force(costs, base, count):
    """Every product of the finite tables, sorted."""
    choices = [[0.0, *cost] for cost in costs]
    return base - np.sort([sum(choice) for choice in itertools.product(*choices)])[:count]


increments = st.lists(
    st.lists(st.floats(1e-3, 10), min_size=1, max_size=4), min_size=1, max_size=5
)


@given(increments=increments, count=st.integers(1, 300))
def test_largest_against_enumeration(increments, count):
    costs = [np.cumsum(steps) for steps in increments]
    products = select_products(costs, -1.0, count)
    expected = brute_force(costs, -1.0, count)
    np.testing.assert_allclose(products.log_values, expected, rtol=4e-15, atol=4e-15)


@given(increments=increments, count=st.integers(1, 300))
def test_products_are_distinct_and_parents_come_first(increments, count):
    costs = [np.cumsum(steps) for steps in increments]
    products = select_products(costs, 0.0, count)
    indices = products.multi_indices()
    assert len(set(indices)) == len(indices)
    assert products.parents[0] == -1
    assert (products.parents[1:] < np.arange(1, len(products))).all()
    assert (np.diff(products.log_values) <= 0).all()
    for index, value in zip(indices, products.log_values, strict=True):
        assert len({axis for axis, _ in index}) == len(index)
        assert -sum(costs[axis][order - 1] for axis, order in index) == pytest.approx(value)
        if index:  # closed under taking the last pair away
            assert index[:-1] in indices
    assert [len(index) for index in indices] == products.levels().tolist()
    highest = [max((n for i in indices for a, n in i if a == axis), default=0) + 1
               for axis in range(len(costs))]  # fmt: skip
    assert products.n_orders(len(costs)).tolist() == highest


def test_geometric_tables_against_enumeration():
    ratios = np.array([0.5, 0.3, 0.29, 0.05])
    products = select_products(geometric_costs(ratios), np.log1p(-ratios).sum(), 300)
    tables = [-np.arange(1, 25) * np.log(B) for B in ratios]
    expected = brute_force(tables, np.log1p(-ratios).sum(), 300)
    np.testing.assert_allclose(products.log_values, expected, atol=2e-14)


def test_all_eigenvalues_add_up_to_one():
    ratios = np.array([0.6, 0.2])
    products = select_products(geometric_costs(ratios), np.log1p(-ratios).sum(), 3000)
    assert np.exp(products.log_values).sum() == pytest.approx(1.0, abs=1e-12)


def test_axes_may_come_in_any_order():
    indices = select_products(geometric_costs(np.array([0.1, 0.4, 0.2])), 0.0, 4).multi_indices()
    assert indices == [(), ((1, 1),), ((2, 1),), ((1, 2),)]


def test_ties_lower_degree_first_then_the_one_found_first():
    products = select_products([[1.0, 2.0], [1.0, 2.0], [2.0, 4.0]], 0.0, 9)
    assert products.multi_indices()[:3] == [(), ((0, 1),), ((1, 1),)]
    assert products.multi_indices()[3] == ((2, 1),)  # degree 1 before the three of degree 2
    degrees = [sum(order for _, order in index) for index in products.multi_indices()]
    assert degrees == [0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_fewer_where_there_are_fewer():
    assert len(select_products([[1.0], [2.0, np.inf]], 0.0, 100)) == 4
    assert len(select_products(geometric_costs(np.zeros(3)), 0.0, 100)) == 1
    assert len(select_products([], 0.0, 100)) == 1


def test_many_axes():
    """As in images: as many axes as pixels, and no more work than there are products."""
    ratios = 0.5 * np.arange(1, 785) ** -1.0
    products = select_products(geometric_costs(ratios), np.log1p(-ratios).sum(), 3000)
    assert len(set(products.multi_indices())) == 3000
    # the cut is right: no product left out, of those one step away, is larger than the last
    chosen = set(products.multi_indices())
    logs = np.log(ratios)
    for index in products.multi_indices()[:300]:
        for axis in range(20):
            orders = dict(index)
            orders[axis] = orders.get(axis, 0) + 1
            if tuple(sorted(orders.items())) not in chosen:
                value = np.log1p(-ratios).sum() + sum(n * logs[a] for a, n in orders.items())
                assert value <= products.log_values[-1] + 1e-12


def test_restrict_keeps_the_parents_that_are_needed(rng):
    products = select_products(geometric_costs(np.array([0.5, 0.4, 0.3])), 0.0, 60)
    columns = np.sort(rng.choice(60, 7, replace=False))
    fewer, where = products.restrict(columns)
    everything, some = products.multi_indices(), fewer.multi_indices()
    assert [some[i] for i in where] == [everything[i] for i in columns]
    assert (fewer.parents[1:] < np.arange(1, len(fewer))).all()
    assert fewer.parents[0] == -1
    np.testing.assert_array_equal(fewer.log_values[where], products.log_values[columns])


@pytest.mark.parametrize(
    ("costs", "count", "message"),
    [([[1.0]], 0, "count must be"), ([[0.0]], 3, "costs must"), ([[np.nan]], 3, "costs must")],
)
def test_bad_input(costs, count, message):
    with pytest.raises(ValueError, match=message):
        select_products(costs, 0.0, count)
