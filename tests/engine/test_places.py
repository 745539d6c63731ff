import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import bochner
from bochner import FourierFeatures, linear
from bochner.engine.places import (
    as_float,
    cast,
    check_entries,
    convert,
    float_dtype,
    identity,
    is_dask,
    is_dask_table,
    is_device,
    is_host,
    is_real,
    machine_epsilon,
    namespace,
    place_of,
    result_dtype,
    single_rows,
    to_numpy,
    wide_dtype,
    without_half,
    zeros,
)
from bochner.linear.normal_equations import NormalEquations
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


class TestPlace:
    @pytest.mark.parametrize("place", PLACES)
    def test_of_every_kind(self, place, rng):
        there = PLACES[place](rng.normal(size=(6, 4)))
        expected = {"torch": "device", "strict": "device", "dask": "cluster"}
        assert place_of(there) == expected.get(place.removesuffix("_sparse"), "host")
        assert is_host(there) == (place_of(there) == "host")
        assert is_device(there) == (place_of(there) == "device")
        assert is_dask(there) == (place_of(there) == "cluster")

    def test_dask_tables(self):
        dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
        table = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1)
        assert is_dask_table(table)
        assert is_dask(table["a"])
        assert not is_dask(table.compute())

    def test_another_object_with_a_dask_graph_is_no_dask_array(self):
        """As xarray's arrays are, which become NumPy arrays."""
        labelled = Labelled(np.random.default_rng(0).normal(size=(20, 3)))
        assert not is_dask(labelled)
        fourier = FourierFeatures(n_components=4, random_state=0).fit(labelled)
        np.testing.assert_array_equal(
            fourier.transform(labelled), fourier.transform(labelled.values)
        )

    def test_other_dask_collections_are_no_dask_arrays(self):
        dask = pytest.importorskip("dask")
        assert not is_dask(dask.delayed(1))


class Labelled:
    """What xarray's arrays look like to us."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim

    def __dask_graph__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)


class TestFloatDtype:
    @pytest.mark.parametrize(
        ("dtype", "expected", "of_images"),
        [
            ("float32", "float32", "float32"),
            (">f4", "float32", "float32"),
            ("float64", "float64", "float64"),
            ("longdouble", "float64", "float64"),
            ("float16", "float32", "float32"),
            ("bool", "float64", "float32"),
            ("uint8", "float64", "float32"),
            ("int16", "float64", "float32"),
            ("int32", "float64", "float64"),
            ("uint64", "float64", "float64"),
        ],
    )
    def test_table(self, dtype, expected, of_images):
        X = np.zeros(2, dtype)
        assert float_dtype(X) == expected
        assert float_dtype(X, images=True) == of_images
        assert as_float(X).dtype == expected
        assert as_float(X, images=True).dtype == of_images

    @pytest.mark.parametrize("dtype", ["complex128", "complex64", "U3", "S3", "object", "M8[s]"])
    def test_of_what_is_no_number(self, dtype):
        X = np.zeros(2, dtype)
        assert not is_real(X)
        with pytest.raises(TypeError, match="X must hold real numbers, got dtype"):
            float_dtype(X)

    def test_is_the_same_on_a_device(self):
        torch = pytest.importorskip("torch")
        names = {"float32": "float32", "float16": "float32", "bfloat16": "float32"}
        names |= dict.fromkeys(("float64", "int32", "uint8", "bool"), "float64")
        for name, expected in names.items():
            X = torch.zeros(2, dtype=getattr(torch, name))
            assert float_dtype(X) == expected
            assert result_dtype(X) == getattr(torch, expected)

    def test_tables_of_half_precision(self):
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.0]}, dtype=np.float16)
        assert (without_half(X).dtypes == np.float32).all()
        mixed = X.astype({"a": np.float32})
        assert without_half(mixed) is mixed
        assert FourierFeatures(n_components=4).fit_transform(X).dtype == np.float32


def test_bfloat16_comes_to_numpy_as_float32():
    torch = pytest.importorskip("torch")
    result = to_numpy(torch.tensor([1.5, -2.0], dtype=torch.bfloat16, requires_grad=True))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [1.5, -2.0])


@pytest.mark.parametrize("place", ["numpy", "csr", "torch", "strict"])
def test_entries_are_finite_and_not_too_large(place):
    X = np.array([[0, -1e200], [1e200, 0], [0, 0]])
    check_entries(PLACES[place](X))
    check_entries(PLACES[place]((X > 0).astype(int)), 0.5)  # of integers only the type counts
    for sign in (1, -1):
        with pytest.raises(ValueError, match=r"up to 1e\+200 in size, where at most 1e\+150"):
            check_entries(PLACES[place](np.maximum(sign * X, 0) * sign), 1e150)
        for bad in (np.nan, sign * np.inf):
            X[1, 1] = bad
            with pytest.raises(ValueError, match="NaN or infinity"):
                check_entries(PLACES[place](X))
            with pytest.raises(ValueError, match="NaN or infinity"):
                check_entries(PLACES[place](X), 1e150)
        X[1, 1] = 0


# --- the rule that these decisions are made here alone ---------------------------------------

SOURCE = Path(bochner.__file__).parent
OTHERS = sorted(
    str(path.relative_to(SOURCE))
    for path in SOURCE.rglob("*.py")
    if path.relative_to(SOURCE).parts[0] != "engine"
)


def own_decisions(tree):
    """Decisions of a module about kinds of arrays and dtypes, as (line, what)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("rechunk", "map_blocks"):
                yield node.lineno, f"{node.func.attr}(: use bochner.engine.rowwise"
        elif isinstance(node, ast.Constant) and node.value in ("__dask_graph__", "__dlpack__"):
            yield node.lineno, f"{node.value}: use is_dask or is_device of bochner.engine.places"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if any(name.partition(".")[0] == "array_api_compat" for name in names):
                yield node.lineno, "array_api_compat: use namespace of bochner.engine.places"
        elif isinstance(node, ast.IfExp):
            chosen = {ast.unparse(node.body), ast.unparse(node.orelse)}
            floats = any(name.endswith((".float32", ".float64")) for name in chosen)
            if floats and "dtype" in ast.unparse(node.test):
                yield node.lineno, "a floating dtype: use float_dtype of bochner.engine.places"


# Behind the border of a map rows are what places.py says. Labels and parameters have other names.
ROWS = {"X", "rows", "block", "batch", "images"}
CONVERTERS = {"asarray", "asanyarray", "array", "ascontiguousarray", "asfortranarray"}
CONVERTERS |= {"as_tensor", "tensor", "from_numpy", "from_dlpack"}
COMPARISONS = {"issubdtype", "result_type", "promote_types", "can_cast"}
PARTS_OF_ROWS = {"T", "data", "dense", "detached", "tocsr", "toarray", "astype"}
PACKAGES = ("base.py", "fourier", "margin", "mercer", "nystroem", "metric", "images")
MAPS = [path for path in OTHERS if Path(path).parts[0] in PACKAGES]


def called_name(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def holds_rows(node):
    """Whether an expression is rows, or some of them, or the same rows in another form."""
    match node:
        case ast.Name(id):
            return id in ROWS
        case ast.Subscript(value=value):
            return holds_rows(value)
        case ast.Attribute(value=value, attr=name):
            return name in PARTS_OF_ROWS and holds_rows(value)
        case ast.Call(args=args, func=func) if called_name(node) in PARTS_OF_ROWS:
            return any(map(holds_rows, args)) or holds_rows(func)
    return False


def is_dtype_of_rows(node):
    return isinstance(node, ast.Attribute) and node.attr == "dtype" and holds_rows(node.value)


def own_conversions(tree):
    """Where a map makes rows another kind of array, or a dtype of them, as (line, what)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name, first = called_name(node), node.args[0] if node.args else None
            keywords = {keyword.arg for keyword in node.keywords}
            if name in CONVERTERS and holds_rows(first) and keywords != {"copy"}:
                yield node.lineno, f"{name}(rows): use as_array, by_rows, cast or convert"
            elif name == "isinstance" and holds_rows(first):
                yield node.lineno, "isinstance(rows, ...): use is_host, is_device or is_dask"
            elif name in COMPARISONS and any(
                is_dtype_of_rows(part) or holds_rows(part) for part in node.args
            ):
                yield node.lineno, f"{name}(rows): use float_dtype or result_dtype"
            elif name == "astype" and holds_rows(node.func.value) and "32" in ast.unparse(node):
                yield node.lineno, "rows in single precision: use as_float"
        elif isinstance(node, ast.Attribute) and is_dtype_of_rows(node.value):
            yield node.lineno, f"rows.dtype.{node.attr}: use is_real, float_dtype or item_size"
        elif isinstance(node, ast.Compare) and any(
            map(is_dtype_of_rows, [node.left, *node.comparators])
        ):
            yield node.lineno, "rows.dtype compared: use float_dtype or result_dtype"


@pytest.mark.parametrize("path", OTHERS)
def test_decisions_are_made_in_places_alone(path):
    assert not list(own_decisions(ast.parse((SOURCE / path).read_text())))


@pytest.mark.parametrize("path", MAPS)
def test_maps_leave_rows_as_they_are(path):
    assert not list(own_conversions(ast.parse((SOURCE / path).read_text())))


@pytest.mark.parametrize(
    "code",
    [
        "np.asarray(X)",
        "np.asarray(X, dtype=np.float64)",
        "np.asarray(dense(X)[keep])",
        "np.array(rows[:, 1])",
        "np.ascontiguousarray(X.T)",
        "torch.as_tensor(block, device=device)",
        "isinstance(X, np.ndarray)",
        "X.astype(np.float32)",
        "X.tocsr().astype('float32')",
        "X.dtype.kind == 'f'",
        "4 * X.dtype.itemsize",
        "X.dtype == np.float16",
        "rows.dtype not in (np.float32, np.float64)",
        "np.issubdtype(X.dtype, np.floating)",
        "np.result_type(X, np.float32)",
    ],
)
def test_the_rule_for_maps_sees(code):
    assert list(own_conversions(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "np.asarray(y, dtype=np.float64)",
        "np.asarray(losses)",
        "np.array([np.mean(X)])",
        "np.asarray(X.multiply(X).sum(axis=1))",
        "xp.asarray(X[:, j], copy=True)",
        "rows.astype(np.float64)",
        "cast(X, wide_dtype(X))",
        "y.dtype.kind == 'f'",
        "zeros(shape, X, X.dtype)",
        "isinstance(self.landmarks, str)",
    ],
)
def test_the_rule_for_maps_lets_pass(code):
    assert not list(own_conversions(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "X.rechunk({1: -1})",
        "X.map_blocks(f)",
        "hasattr(X, '__dlpack__')",
        "hasattr(X, '__dask_graph__')",
        "from array_api_compat import device",
        "import array_api_compat.torch",
        "np.float32 if X.dtype == np.float16 else np.float64",
        "xp.float32 if str(X.dtype).endswith('float16') else wide",
    ],
)
def test_the_rule_sees(code):
    assert list(own_decisions(ast.parse(code)))


@pytest.mark.parametrize(
    "solve",
    [
        lambda X, y: NormalEquations.from_rows(X, y),
        lambda X, y: linear.GrowingRidge(y).append(X).solve(1.0),
        lambda X, y: linear.solve_squared_hinge(X, y, 1.0),
        lambda X, y: list(linear.squared_hinge_path(X, y, [1.0])),
        lambda X, y: linear.project_onto_dual_set(X[:, :1], y, 1.0),
    ],
)
def test_solvers_do_not_work_on_lazy_arrays(solve):
    """dask would say that all chunks must be square, or solve another problem without a word."""
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(101, 7))
    y = np.sign(X[:, :1])
    solve(X, y)
    rows = da.from_array(X, chunks=((37, 1, 63), (2, 5)))
    with pytest.raises(ValueError, match=r"a dask array is not taken here.*X\.compute\(\)"):
        solve(rows, y)


def test_single_rows_are_dense_ones_of_the_host():
    X = np.eye(3)
    assert single_rows(X).dtype == np.float32
    single = X.astype(np.float32)
    assert single_rows(single) is single
    thin = sparse.csr_array(X)
    assert single_rows(thin) is thin
