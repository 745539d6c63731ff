"""The building blocks of an ONNX graph: constants, nodes and a few formulas made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Graph:
    """A graph under construction; every method adds nodes and returns the name of the result.

    Names come from the `scope` of skl2onnx, and nodes go into its `container`. Numbers enter and
    leave in `dtype`, float32 or float64.
    """

    def __init__(self, scope: Any, container: Any, dtype: Any) -> None:
        self.scope, self.container, self.dtype = scope, container, np.dtype(dtype)

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result."""
        name = self.scope.get_unique_variable_name(operator.lower())
        self.container.add_node(
            operator,
            list(inputs),
            [name],
            name=self.scope.get_unique_operator_name(operator),
            op_domain=attributes.pop("domain", ""),
            **attributes,
        )
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add an array; numbers in the dtype of the graph unless another is given."""
        from onnx import TensorProto, numpy_helper

        array = np.ascontiguousarray(values, self.dtype if dtype is None else dtype)
        name = self.scope.get_unique_variable_name("constant")
        if array.dtype == object:
            strings = [str(value).encode() for value in array.ravel()]
            self.container.add_initializer(name, TensorProto.STRING, array.shape, strings)
        else:
            self.container.add_initializer(name, None, None, numpy_helper.from_array(array))
        return name

    def integers(self, values: Any) -> str:
        return self.constant(values, np.int64)

    def strings(self, values: Any) -> str:
        return self.constant(np.asarray(values, object), object)

    def cast(self, x: str, dtype: Any) -> str:
        from onnx import helper

        return self("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def take(self, x: str, columns: Any) -> str:
        return self("Gather", x, self.integers(columns), axis=1)

    def concatenate(self, parts: list[str]) -> str:
        """Concatenate the columns of all parts."""
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=1)

    def sum(self, x: str, axis: int = 1, keepdims: bool = True) -> str:
        return self("ReduceSum", x, self.integers([axis]), keepdims=int(keepdims))

    def largest(self, x: str) -> str:
        """Return the largest entry of each row, of shape (n, 1), for old and new operators."""
        if self.container.target_opset < 18:
            return self("ReduceMax", x, axes=[1], keepdims=1)
        return self("ReduceMax", x, self.integers([1]), keepdims=1)

    def square(self, x: str) -> str:
        return self("Mul", x, x)

    def times(self, x: str, values: Any) -> str:
        return self("Mul", x, self.constant(values))

    def plus(self, x: str, values: Any) -> str:
        return self("Add", x, self.constant(values))

    def over(self, x: str, values: Any) -> str:
        return self("Div", x, self.constant(values))

    def product(self, x: str, matrix: Any) -> str:
        return self("MatMul", x, self.constant(matrix))

    def filled(self, x: str, value: float) -> str:
        """Return an array of the shape of `x` with one value everywhere."""
        return self.plus(self.times(x, 0.0), [value])

    def not_below_zero(self, x: str) -> str:
        return self("Max", x, self.constant([0.0]))

    def unit_rows(self, x: str) -> str:
        """Divide rows by their length; zero rows stay zero."""
        length = self("Sqrt", self.sum(self.square(x)))
        zero = self("Equal", length, self.constant([0.0]))
        return self("Div", x, self("Where", zero, self.constant([1.0]), length))


# Adds the nodes of a fitted estimator for the rows of this name; returns the names of the results.
Write = Callable[[Graph, str, Any], str | list[str]]


def in_float64(write: Callable[[Graph, str, Any], str]) -> Callable[[Graph, str, Any], str]:
    """Compute in float64, between two casts if the rows are float32.

    This is for computations that an estimator does in float64 internally, or that would lose too
    much precision in float32: distances, Hermite functions, harmonics.
    """

    @functools.wraps(write)
    def wrapped(graph: Graph, x: str, model: Any) -> str:
        if graph.dtype == np.float64:
            return write(graph, x, model)
        wide = Graph(graph.scope, graph.container, np.float64)
        return graph.cast(write(wide, graph.cast(x, np.float64), model), graph.dtype)

    return wrapped


def not_convertible(what: str, hint: str = "") -> NotImplementedError:
    """Return the error for something that has no ONNX form here."""
    return NotImplementedError(f"{what} cannot be written as ONNX{hint}.")


def dense(points: Any) -> NDArray[np.float64]:
    return np.asarray(points.toarray() if sparse.issparse(points) else points, np.float64)
