"""Models on file: one zip archive written by skops, read without ever running what is in it.

A model file is what :func:`skops.io.dumps` makes of ``{"format", "details", "pipeline"}``, where
`format` is a number and `details` a JSON text. The comment of the archive is a checksum of
the rest, so that a damaged file is known as such; against somebody who means harm the list of
trusted types stands, see :mod:`bochner.models.trust`. There is no pickle anywhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

import bochner
from bochner.models.archive import small_skops, whole_skops
from bochner.models.schema import Schema
from bochner.models.trust import check_contents, foreign_types, trusted_types
from bochner.records.files import WriteError, writing_whole

FORMAT = 2  # 1: heads of scikit-learn, and maps under other names

_SEAL = b"bochner sha256 "


class ModelFileError(ValueError):
    """A model file that cannot be read or must not be, in one line for the user."""


class ModelFileWarning(UserWarning):
    """A model file that was written under other circumstances."""


@dataclass(frozen=True)
class Model:
    """A fitted pipeline with what is to be known of it.

    Parameters
    ----------
    pipeline : Pipeline
    schema : Schema
        The columns it takes.
    details : dict
        What :func:`save_model` was given, and the versions of what wrote it.
    """

    pipeline: Any
    schema: Schema
    details: Mapping[str, Any]

    @property
    def task(self) -> str | None:
        """ "classification" or "regression", as far as is known."""
        return self.details.get("task")

    @property
    def target(self) -> str | None:
        """The name of the column that it predicts."""
        return self.details.get("target")


def save_model(
    pipeline: Any, path: str | Path, *, schema: Schema, details: Mapping[str, Any] | None = None
) -> Path:
    """Write a fitted pipeline to a file that :func:`load_model` reads.

    The file appears whole or not at all.

    Parameters
    ----------
    pipeline : Pipeline
        Of scikit-learn, holding estimators of scikit-learn and of this package.
    path : str or Path
        Replaced if it is there.
    schema : Schema
        The columns that it takes.
    details : mapping, optional
        Numbers, strings, lists: task, target, classes, score, command.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        Where the pipeline holds something that :func:`load_model` would refuse, such as a
        function or a kernel of one's own.

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
    io_ = _skops(whole_skops)
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
    """Read a model, or refuse the file; nothing that a file brings along is run.

    Parameters
    ----------
    path : str or Path
        What :func:`save_model` wrote.

    Returns
    -------
    Model

    Raises
    ------
    ModelFileError
        The file is not a model, is damaged, holds types that are not trusted (which are listed),
        is of another format, or of another major version of scikit-learn.

    Warns
    -----
    ModelFileWarning
        The file was written with another minor version of scikit-learn: predictions may differ.

    Examples
    --------
    >>> from bochner.models.files import load_model
    >>> load_model("missing.skops")
    Traceback (most recent call last):
    ...
    bochner.models.files.ModelFileError: missing.skops cannot be read: No such file or directory
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from error
    tree, sealed = _open(path, data)
    _check_format(path, tree)
    try:
        io_, foreign = _reader(data)
    except Exception as error:  # whatever a forged tree makes of skops
        raise ModelFileError(f"{path} is not a skops file: {_line(error)}") from error
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


def _skops(import_it: Callable[[], Any]) -> Any:
    try:
        return import_it()
    except ModuleNotFoundError as error:
        raise ModelFileError("model files need skops: pip install 'bochner[cli]'") from error


def _reader(data: bytes) -> tuple[Any, list[str]]:
    """What reads the file, and the types in it that are not trusted."""
    io_ = _skops(small_skops)
    foreign = foreign_types(io_.get_untrusted_types(data=data))
    if foreign:  # perhaps other estimators of scikit-learn
        io_ = _skops(whole_skops)
        foreign = foreign_types(io_.get_untrusted_types(data=data))
    return io_, foreign


def _open(path: Path, data: bytes) -> tuple[Any, bool]:
    """The tree of the objects in a file as it is written there, and whether the seal is ours."""
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
    # Stored members are as long as they say: a small file cannot fill the memory.
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
    """The members of the archive that the tree of objects refers to."""
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
    """An error unless the file is a model, and of the format that is written today."""
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
    """What the file says of itself, before any object of it is made."""
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
    """An archive without comment with its checksum as the comment; still a zip archive."""
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
    """What an error says, in one line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
