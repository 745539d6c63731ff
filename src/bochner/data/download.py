"""Download data files from their public homes, check them and keep them in a cache folder.

A file is looked for in the folder named by ``BOCHNER_DATA``, then in the cache, and is downloaded
only if it is in neither; a download is announced in one line. The cache is ``BOCHNER_CACHE``, or
``bochner`` in the user's cache folder. A download is checked against its published checksum, or
if there is none against the checksum of the first download, which is kept next to it. The arrays
made from it are then compared with those that our published results were measured on.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tarfile import TarError
from urllib.error import HTTPError
from urllib.parse import urlsplit
from zipfile import BadZipFile

import numpy as np

from bochner.data import conversions
from bochner.data.conversions import Arrays
from bochner.data.local import VARIABLE, cache_folder, find_file
from bochner.records.files import write_text_whole, writing_whole

HASHES = "checksums.json"  # of downloads that have no published checksum, in the cache
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
UCI = "https://archive.ics.uci.edu/static/public"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
CIFAR = "https://www.cs.toronto.edu/~kriz"
FIGSHARE = "figshare.com"  # where scikit-learn has its datasets

# Errors of a connection, a checksum, or a file that is not what it should be.
_FAILURES = (OSError, ValueError, KeyError, RuntimeError, EOFError, BadZipFile, TarError)

# Takes an address, the checksum of its content (None: that of the first time), where to keep it.
Fetch = Callable[[str, str | None, Path], Path]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """Source of a data file.

    `addresses` maps addresses to published checksums, or None. `make` turns the downloaded files,
    or the cache folder if scikit-learn downloads them itself, into arrays. `digest` is the
    checksum of the arrays that we have measured with.
    """

    make: Callable[..., Arrays]
    addresses: Mapping[str, str | None]
    size: str
    digest: str | None = None
    home: str = ""  # name of a source that scikit-learn fetches

    def __str__(self) -> str:
        return self.home or next(iter(self.addresses))

    @property
    def host(self) -> str:
        """Name of the server."""
        if not self.addresses:
            return FIGSHARE
        return urlsplit(next(iter(self.addresses))).hostname or str(self)


_CIFAR10 = {f"{CIFAR}/cifar-10-binary.tar.gz": "md5:c32a1d4ab5d03f1284b67883e8d87530"}
SOURCES: dict[str, Source] = {
    "mnist.npz": Source(
        conversions.mnist,
        {
            f"{MNIST}/train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
            f"{MNIST}/train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
            f"{MNIST}/t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
            f"{MNIST}/t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
        },
        "12 MB",
        "e4a110d5e99651854e7685581f3b90e0112a80f50d7b1f446b8a1d8084a324ff",
    ),
    "a9a.npz": Source(
        partial(conversions.svmlight_parts, n_features=123, dtype=np.uint8),
        {f"{LIBSVM}/binary/a9a": None, f"{LIBSVM}/binary/a9a.t": None},
        "3 MB",
        "56900c02c4a76e747e31185d612144036cbb487a3a667edc47d4482e0d57deed",
    ),
    "ijcnn1.npz": Source(
        partial(conversions.svmlight_parts, n_features=22, dtype=np.float32),
        {f"{LIBSVM}/binary/ijcnn1.bz2": None, f"{LIBSVM}/binary/ijcnn1.t.bz2": None},
        "5 MB",
        "c13257d14f5848d671cf5600277780573149f6bc739012d71dac8b9a001c9414",
    ),
    "yearmsd.npz": Source(
        partial(conversions.svmlight_parts, n_features=90, dtype=np.float32),
        {
            f"{LIBSVM}/regression/YearPredictionMSD.bz2": None,
            f"{LIBSVM}/regression/YearPredictionMSD.t.bz2": None,
        },
        "220 MB",
    ),
    "cpusmall.npz": Source(
        partial(conversions.svmlight_numbers, n_features=12),
        {f"{LIBSVM}/regression/cpusmall": None},
        "1 MB",
        "d983a13bcb4d8e5459a8b6c44c0d31ca48eaf999aef606dfa4791f063ff0448f",
    ),
    "adult.npz": Source(
        conversions.adult,
        {f"{UCI}/2/adult.zip": None},
        "1 MB",
        "446fe0c03136fcacfda0e5d00441a655d93b9453dc34eea7b58bcd53762a6cc9",
    ),
    "internet_ads.npz": Source(
        conversions.internet_ads,
        {f"{UCI}/51/internet+advertisements.zip": None},
        "1 MB",
        "8fd532dc9c10ac4b74c43dc5b1899c2668e97395ef016f44e7242ea36f3301a0",
    ),
    "farm_ads.npz": Source(
        conversions.farm_ads,
        {f"{UCI}/218/farm+ads.zip": None},
        "8 MB",
        "4332b123a346a91aca09ac8f32f3c1bc60c354ea06eee1c6a5ec349df854b7e7",
    ),
    "covtype.npz": Source(
        conversions.covtype,
        {},
        "11 MB",
        "923f65d286465b0f74dd6ff6e0ae1a0ff6c8440474fb6f668476bcc39be121e2",
        "scikit-learn's fetch_covtype",
    ),
    "cadata.npz": Source(
        conversions.cadata,
        {},
        "0.5 MB",
        "a29ac80bc3883e4c4b2fcdf07ef5c7e66edd03f03ac0fb500c51d422bc2a2710",
        "scikit-learn's fetch_california_housing",
    ),
    "cifar10_train.npz": Source(
        partial(conversions.cifar10_sheets, part="train"), _CIFAR10, "162 MB"
    ),
    "cifar10_test.npz": Source(
        partial(conversions.cifar10_sheets, part="test"), _CIFAR10, "162 MB"
    ),
    "cifar10_hog.npz": Source(conversions.cifar10_hog, _CIFAR10, "162 MB"),
}


def obtain(
    file: str, *, offline: bool = False, say: Say | None = None, fetch: Fetch | None = None
) -> Path:
    """Return the path of a data file: in the user's folder, in the cache, or downloaded to it.

    `say` is called with a line before a download, and if the data differ from ours; by default it
    prints to stderr. `fetch` downloads one address, checks the file and returns its path; by
    default this is done by pooch. If the file is nowhere and cannot be downloaded, a
    FileNotFoundError with a message of one line is raised.
    """
    existing = find_file(file)
    if existing is not None:
        return existing
    source = SOURCES.get(file)
    if source is None:
        raise FileNotFoundError(
            f"{_absent(file)}, and we know no address of it (only of {', '.join(SOURCES)})."
        )
    if offline:
        raise FileNotFoundError(f"{_absent(file)}, and downloads are forbidden (--offline).")
    say = say or partial(print, file=sys.stderr, flush=True)
    target = cache_folder() / file
    say(f"Downloading {file} ({source.size}) from {source} to {target.parent}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Retry downloading", UserWarning)  # scikit-learn's
            arrays = source.make(*_fetched(source, target.parent / "raw", fetch or _retrieve))
    except ImportError as error:
        raise FileNotFoundError(f"{_absent(file)}, and to download it: {error}") from error
    except _FAILURES as error:
        if _unreachable(error):
            raise FileNotFoundError(
                f"{_absent(file)}, and {source.host} cannot be reached."
            ) from error
        reason = textwrap.shorten(str(error), 100, placeholder=" ...")  # some go on for lines
        raise FileNotFoundError(
            f"{_absent(file)}, and downloading it from {source} failed: "
            f"{type(error).__name__}: {reason}"
        ) from error
    if source.digest is not None and digest(arrays) != source.digest:
        say(f"{file}: these rows are not quite those that our published results were measured on.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with writing_whole(target) as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return target


def digest(arrays: Arrays) -> str:
    """Return a checksum of arrays that does not depend on their types or how they are stored.

    >>> digest({"y": np.ones(3, dtype=np.int8)}) == digest({"y": np.ones(3)})
    True
    """
    total = hashlib.sha256()
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name], dtype=np.float32)
        total.update(f"{name} {values.shape}".encode())
        total.update(values.astype("<f4", copy=False).tobytes())
    return total.hexdigest()


def _fetched(source: Source, folder: Path, fetch: Fetch) -> list[Path]:
    if not source.addresses:
        return [folder]
    paths = []
    for address, known in source.addresses.items():
        recorded = known or _recorded(folder).get(address)
        # A folder for each address: different homes may have files of the same name.
        name = hashlib.sha256(address.encode()).hexdigest()[:8]
        path = fetch(address, recorded, folder / name / address.rpartition("/")[2])
        if known is None:
            _record(folder, address, f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")
        paths.append(path)
    return paths


def _retrieve(address: str, known: str | None, path: Path) -> Path:
    try:
        import pooch
    except ImportError:
        raise ImportError("install the package pooch (pip install bochner[cli])") from None
    pooch.get_logger().setLevel("ERROR")  # it would print what we print, and the checksum
    return Path(pooch.retrieve(address, known_hash=known, fname=path.name, path=path.parent))


def _unreachable(error: BaseException) -> bool:
    """Whether there was no connection at all: errors of the system, of urllib or of requests."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    no_connection = kinds & {"ConnectionError", "TimeoutError", "Timeout", "URLError"}
    return bool(no_connection) and not isinstance(error, HTTPError)


def _recorded(folder: Path) -> dict[str, str]:
    path = folder / HASHES
    return dict(json.loads(path.read_text())) if path.exists() else {}


def _record(folder: Path, address: str, checksum: str) -> None:
    known = _recorded(folder)
    if address not in known:
        folder.mkdir(parents=True, exist_ok=True)
        write_text_whole(folder / HASHES, json.dumps({**known, address: checksum}, indent=1))


def _absent(file: str) -> str:
    folder = os.environ.get(VARIABLE)
    place = f"not in {folder} ({VARIABLE})" if folder else f"not at hand ({VARIABLE} is not set)"
    return f"{file} is {place}, nor in the cache {cache_folder()}"
