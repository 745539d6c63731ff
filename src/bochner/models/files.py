"""Model files: one zip archive written by skops, read without running anything in it.

A model file is the result of :func:`skops.io.dumps` for ``{"format", "details", "pipeline"}``,
where `format` is a number and `details` a JSON text. The comment of the archive is a checksum of
the rest, so that a damaged file is recognised; the protection against malicious files is the list
of trusted types, see :mod:`bochner.models.trust`. Pickle is not used anywhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

import bochner
from bochner.models.schema import Schema
from bochner.models.trust import check_contents, foreign_types, trusted_types
from bochner.records.files import WriteError, writing_whole

FORMAT = 2  # format 1 had scikit-learn's heads, and maps under other names

_ARRAY_LIBRARIES = ("cupy", "dask", "jax", "torch")
_SEAL = b"bochner sha256 "


class ModelFileError(ValueError):
    """Error for a model file that cannot or must not be read, in one line for the user."""


class ModelFileWarning(UserWarning):
    """Warning about a model file that was written with other versions."""


@dataclass(frozen=True)
class Model:
    """A fitted pipeline with its schema and details.

    Parameters
    ----------
    pipeline : Pipeline
        The fitted pipeline.
    schema : Schema
        The columns that it takes.
    details : dict
        The details given to :func:`save_model`, and the versions of the packages that wrote it.
    """

    pipeline: Any
    schema: Schema
    details: Mapping[str, Any]

    @property
    def task(self) -> str | None:
        """The task, "classification" or "regression", if it is known."""
        return self.details.get("task")

    @property
    def target(self) -> str | None:
        """The name of the column that the model predicts, if it is known."""
        return self.details.get("target")


def save_model(
    pipeline: Any, path: str | Path, *, schema: Schema, details: Mapping[str, Any] | None = None
) -> Path:
    """Write a fitted pipeline to a file that :func:`load_model` reads.

    The file is written completely or not at all.

    Parameters
    ----------
    pipeline : Pipeline
        A scikit-learn pipeline of estimators of scikit-learn and of this package.
    path : str or Path
        Path of the file, which is replaced if it exists.
    schema : Schema
        The columns that the pipeline takes.
    details : mapping, optional
        Numbers, strings and lists: task, target, classes, score, command.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ModelFileError
        If the pipeline holds something that :func:`load_model` would refuse, such as a
        user-defined function or kernel, or if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import FourierFeatures
    >>> from bochner.models.files import load_model, save_model
    >>> from bochner.models.schema import Schema
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(FourierFeatures(random_state=0), RidgeClassifier()).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(pipeline, Path(folder) / "iris.skops", schema=Schema.of(X),
    ...                       details={"task": "classification"})
    ...     model = load_model(path)
    >>> bool((model.pipeline.predict(X) == pipeline.predict(X)).all()), model.task
    (True, 'classification')
    """
    io_ = _skops()
    if not isinstance(pipeline, Pipeline):
        raise ModelFileError(f"a model is a Pipeline of scikit-learn, got {_type_name(pipeline)}")
    versions = {"bochner": bochner.__version__, "scikit-learn": sklearn.__version__}
    document = {**(details or {}), "schema": schema.to_json(), "versions": versions}
    container = {"format": FORMAT, "details": _to_json(document), "pipeline": pipeline}
    try:
        data = io_.dumps(container)
        foreign = foreign_types(io_.get_untrusted_types(data=data))
    except Exception as error:  # of whatever kind: skops does not know this type
        raise ModelFileError(f"the model cannot be stored: {_line(error)}") from error
    if foreign:
        raise ModelFileError(
            f"the model holds what is not trusted when it is read again: {', '.join(foreign)}"
        )
    path = Path(path)
    try:
        with writing_whole(path) as file:
            file.write(_sealed(data))
    except WriteError as error:
        raise ModelFileError(str(error)) from error
    return path


def load_model(path: str | Path) -> Model:
    """Read a model from a file, or refuse it, without running any code that the file contains.

    Parameters
    ----------
    path : str or Path
        Path of a file written by :func:`save_model`.

    Returns
    -------
    Model
        The fitted pipeline with its schema and details.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, holds types that are not trusted (which are
        listed), or was written in another format or with another major version of scikit-learn.

    Warns
    -----
    ModelFileWarning
        If the file was written with another minor version of scikit-learn: predictions may
        differ.

    Examples
    --------
    >>> from bochner.models.files import load_model
    >>> load_model("missing.skops")
    Traceback (most recent call last):
    ...
    bochner.models.files.ModelFileError: missing.skops cannot be read: No such file or directory
    """
    io_ = _skops()
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from error
    tree, sealed = _open(path, data)
    _check_format(path, tree)
    try:
        found = io_.get_untrusted_types(data=data)
    except Exception as error:  # whatever a forged tree makes of skops
        raise ModelFileError(f"{path} is not a skops file: {_line(error)}") from error
    foreign = foreign_types(found)
    if foreign:
        raise ModelFileError(
            f"{path} was not loaded, for it holds types that are not trusted: {', '.join(foreign)}"
        )
    details = _details(path, tree, sealed)
    _check_versions(path, details["versions"])
    try:
        schema = Schema.from_json(details["schema"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # said in our own words
            container = io_.loads(data, trusted=sorted(trusted_types()))
        check_contents(container)
        pipeline = container["pipeline"]
    except Exception as error:  # as above
        raise ModelFileError(f"{path} is damaged: {_line(error)}") from error
    if type(pipeline) is not Pipeline or not hasattr(pipeline, "predict"):
        raise ModelFileError(f"{path} holds no pipeline that predicts")
    return Model(pipeline, schema, details)


@contextmanager
def _without_libraries_of_arrays() -> Iterator[None]:
    """Make array libraries that are not imported yet unavailable within the context.

    On import, skops goes through all of scikit-learn, including its adapters of these libraries,
    which would take most of the start-up time of a program that only reads a model.
    """
    absent = [name for name in _ARRAY_LIBRARIES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _skops() -> Any:
    try:
        with _without_libraries_of_arrays():
            import skops.io
    except ModuleNotFoundError as error:
        raise ModelFileError("model files need skops: pip install 'bochner[cli]'") from error
    return skops.io


def _open(path: Path, data: bytes) -> tuple[Any, bool]:
    """Return the tree of the objects in a file as written there, and whether it has our seal."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ModelFileError(f"{path} is not a model file, or is cut off") from error
    sealed = archive.comment.startswith(_SEAL)
    if sealed and _sealed(_without_comment(data, len(archive.comment))) != data:
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum")
    names = [member.filename for member in archive.infolist()]
    if "schema.json" not in names:
        raise ModelFileError(f"{path} is not a model file: an archive of something else")
    # Uncompressed members have the size they declare: a small file cannot fill the memory.
    if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
        raise ModelFileError(f"{path} is not a model file: its members are compressed")
    try:
        tree = json.loads(archive.read("schema.json"))
        damaged = archive.testzip()
        referenced = {"schema.json", *_files(tree)}
    except Exception as error:  # of zipfile, json, or recursion
        raise ModelFileError(f"{path} is damaged: {_line(error)}") from error
    if damaged is not None:
        raise ModelFileError(f"{path} is damaged: {damaged} does not match its checksum")
    if len(names) != len(set(names)) or set(names) != referenced:
        added = sorted(set(names) - referenced)
        if added:
            raise ModelFileError(f"{path} was changed: {added[0]} was added to the archive")
        how = "missing" if referenced - set(names) else "there twice"
        raise ModelFileError(f"{path} was changed: a member of the archive is {how}")
    return tree, sealed


def _files(tree: Any) -> Iterator[str]:
    """Yield the members of the archive that the tree of objects refers to."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if isinstance(part.get("__loader__"), str) and isinstance(part.get("file"), str):
                yield part["file"]
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def _check_format(path: Path, tree: Any) -> None:
    """Raise an error unless the file is a model of the current format."""
    try:
        content = tree["content"]
        written = json.loads(content["format"]["content"])
        if tree["__loader__"] != "DictNode" or set(content) != {"format", "details", "pipeline"}:
            raise KeyError("format")
        if not isinstance(written, int):
            raise TypeError("format")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is a skops file, but not a model of bochner") from error
    if written < FORMAT:
        raise ModelFileError(
            f"{path} has the format {written} of an earlier version of bochner, which cannot be "
            "read any more: train the model again with 'bochner fit'"
        )
    if written > FORMAT:
        raise ModelFileError(
            f"{path} has the format {written}, this version of bochner reads {FORMAT}: "
            "use a later version"
        )


def _details(path: Path, tree: Any, sealed: bool) -> dict[str, Any]:
    """Return the details in the file, before any of its objects is created."""
    if not sealed:
        raise ModelFileError(f"{path} was changed: it has no checksum")
    try:
        details = json.loads(json.loads(tree["content"]["details"]["content"]))
        if not isinstance(details["schema"], dict) or not isinstance(details["versions"], dict):
            raise TypeError("details")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not say what model it is") from error
    return details


def _check_versions(path: Path, versions: Mapping[str, Any]) -> None:
    written = str(versions.get("scikit-learn", ""))
    here = sklearn.__version__
    if written.split(".")[0] != here.split(".")[0]:
        raise ModelFileError(
            f"{path} was written with scikit-learn {written or 'unknown'}, which {here} cannot "
            "be trusted to read: train it again"
        )
    if written.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"{path} was written with scikit-learn {written}, this is {here}: predictions may "
            "differ.",
            ModelFileWarning,
            stacklevel=3,
        )


def _sealed(data: bytes) -> bytes:
    """Return an archive that had no comment with its checksum as the comment."""
    comment = _SEAL + hashlib.sha256(data).hexdigest().encode()
    return data[:-2] + len(comment).to_bytes(2, "little") + comment


def _without_comment(data: bytes, length: int) -> bytes:
    return data[: -2 - length] + b"\0\0"


def _to_json(document: Any) -> str:
    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):  # of NumPy
            return value.tolist()
        raise ModelFileError(
            f"details must hold numbers, strings and lists, got {_type_name(value)}"
        )

    return json.dumps(document, default=plain)


def _line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
