import numpy as np
import pytest
from scipy.linalg import LinAlgError

from bochner.engine.inverse import inverse
from bochner.engine.places import (
    cast,
    convert,
    identity,
    is_host,
    machine_epsilon,
    namespace,
    wide_dtype,
    zeros,
)
from tests.places import PLACES, on_host

LIBRARIES = ["numpy", "torch", "strict"]


@pytest.fixture(params=LIBRARIES)
def put(request):
    return PLACES[request.param]


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


def test_only_numpy_is_read_at_no_cost(put, rng):
    array = put(rng.normal(size=3))
    assert is_host(array) == isinstance(array, np.ndarray)


def test_cast_changes_the_dtype(put, dtype, rng):
    values = rng.normal(size=(2, 3)).astype(dtype)
    array = put(values)
    xp = namespace(array)
    assert cast(array, array.dtype) is array
    for other in (xp.float32, xp.float64):
        result = cast(array, other)
        assert result.dtype == other
        assert type(result) is type(array)
        np.testing.assert_allclose(on_host(result), values, rtol=1e-6)


def test_cast_of_truth_values_counts(put):
    array = put(np.array([True, False, True]))
    xp = namespace(array)
    np.testing.assert_array_equal(on_host(cast(array, xp.float64)), [1, 0, 1])


class TestConvert:
    @pytest.mark.parametrize("values", [[1.0, 2.0], (1, 2), np.array([1, 2]), np.ones(2, "f4")])
    def test_host_values_go_to_the_other(self, values, put, dtype):
        like = put(np.zeros(3, dtype))
        result = convert(values, like)
        assert type(result) is type(like)
        assert result.dtype == like.dtype
        np.testing.assert_allclose(on_host(result), np.asarray(values))

    def test_a_dtype_overrules(self, put, rng):
        like = put(np.zeros(3, np.float32))
        xp = namespace(like)
        values = rng.normal(size=3)
        np.testing.assert_array_equal(on_host(convert(values, like, xp.float64)), values)
        numbers = convert(np.array([0, 5, 2]), like, xp.int64)
        assert numbers.dtype == xp.int64
        np.testing.assert_array_equal(on_host(numbers), [0, 5, 2])

    def test_a_number(self, put):
        like = put(np.zeros(3))
        result = convert(2.5, like)
        assert tuple(result.shape) == ()
        assert float(result) == 2.5

    def test_its_own_arrays_stay(self, put, dtype, rng):
        array = put(rng.normal(size=3).astype(dtype))
        np.testing.assert_array_equal(on_host(convert(array, array)), on_host(array))


@pytest.mark.parametrize("make", [lambda like, t: zeros((3, 3), like, t), None])
def test_zeros_and_identity(make, put, dtype):
    like = put(np.ones((2, 2), dtype))
    xp = namespace(like)
    for kind in (xp.float32, xp.float64):
        result = identity(3, like, kind) if make is None else make(like, kind)
        assert type(result) is type(like)
        assert result.dtype == kind
        np.testing.assert_array_equal(on_host(result), np.eye(3) if make is None else 0)


def test_wide_is_double_where_there_is_one(put, dtype):
    like = put(np.ones(2, dtype))
    assert wide_dtype(like) == namespace(like).float64


def test_machine_epsilon(put, dtype):
    like = put(np.ones(2, dtype))
    assert machine_epsilon(like.dtype, namespace(like)) == np.finfo(dtype).eps


class TestInverse:
    @pytest.mark.parametrize("columns", [1, 4])
    def test_solves(self, columns, put, rng):
        root = rng.normal(size=(6, 6))
        H, B = root @ root.T + np.eye(6), rng.normal(size=(6, columns))
        solve = inverse(put(H))
        # the factorisation is made once and used again
        for right in (B, 2 * B):
            result = solve(put(right))
            assert type(result) is type(put(right))
            np.testing.assert_allclose(on_host(result), np.linalg.solve(H, right), atol=1e-9)

    def test_numpy_solves_one_vector(self, rng):
        root = rng.normal(size=(6, 6))
        H, b = root @ root.T + np.eye(6), rng.normal(size=6)
        np.testing.assert_allclose(inverse(H)(b), np.linalg.solve(H, b), atol=1e-9)

    def test_the_matrix_is_left_alone(self, put, rng):
        root = rng.normal(size=(4, 4))
        H = root @ root.T + np.eye(4)
        there = put(H)
        inverse(there)(put(np.ones((4, 1))))
        np.testing.assert_array_equal(on_host(there), root @ root.T + np.eye(4))

    def test_numpy_says_so_if_it_is_not_positive_definite(self):
        with pytest.raises(LinAlgError):
            inverse(np.diag([1.0, -1.0]))
