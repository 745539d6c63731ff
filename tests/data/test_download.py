import hashlib
import sys
import threading
import warnings
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import numpy as np
import pytest

from bochner.data import download
from bochner.data.download import SOURCES, Source, digest, obtain
from bochner.data.local import CACHE_VARIABLE, VARIABLE, cache_folder, find_file, load_yearmsd


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def served(tmp_path):
    """A folder, and its address on a server of our own."""

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def numbers(*paths):
    """Arrays of files that hold a number each."""
    return {"X": np.array([float(path.read_text()) for path in paths])}


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "bochner"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "bochner"


def test_the_users_folder_comes_first(cache, tmp_path, monkeypatch):
    cache.mkdir()
    (cache / "a9a.npz").touch()
    assert obtain("a9a.npz", offline=True) == cache / "a9a.npz"
    own = tmp_path / "own"
    own.mkdir()
    (own / "a9a.npz").touch()
    monkeypatch.setenv(VARIABLE, str(own))
    assert obtain("a9a.npz", offline=True) == own / "a9a.npz"
    assert find_file("mnist.npz") is None


def test_download_is_said_converted_checked_and_kept(cache, monkeypatch):
    asked, said = [], []

    def fetch(address, known, path):
        asked.append((address, known))
        path.parent.mkdir(parents=True)
        path.write_text(address[-1])
        return path

    content = numbers_digest = digest({"X": np.array([1.0, 2.0])})
    source = Source(numbers, {"http://home/1": "md5:abc", "http://home/2": None}, "1 kB", content)
    monkeypatch.setitem(SOURCES, "new.npz", source)
    path = obtain("new.npz", say=said.append, fetch=fetch)
    assert path == cache / "new.npz"
    with np.load(path) as archive:
        assert archive["X"].tolist() == [1.0, 2.0]
    assert asked == [("http://home/1", "md5:abc"), ("http://home/2", None)]
    assert said == [f"Downloading new.npz (1 kB) from http://home/1 to {cache}"]
    assert [p.name for p in cache.iterdir() if p.is_file()] == ["new.npz"]

    assert obtain("new.npz", say=said.append, fetch=fetch) == path  # from the cache
    assert len(asked) == 2

    # The second address has no published checksum: that of the first time is now asked for.
    path.unlink()
    for raw in cache.glob("raw/*/*"):
        raw.unlink()
        raw.parent.rmdir()
    changed = Source(numbers, source.addresses, "1 kB", numbers_digest[::-1])
    monkeypatch.setitem(SOURCES, "new.npz", changed)
    obtain("new.npz", say=said.append, fetch=fetch)
    assert asked[3] == ("http://home/2", f"sha256:{hashlib.sha256(b'2').hexdigest()}")
    assert said[-1].startswith("new.npz: these rows are not quite those")


def test_real_downloads(cache, served, monkeypatch):
    folder, address = served
    (folder / "one").write_text("1")
    md5 = hashlib.md5(b"1").hexdigest()
    monkeypatch.setitem(
        SOURCES, "new.npz", Source(numbers, {f"{address}/one": f"md5:{md5}"}, "1 B")
    )
    with np.load(obtain("new.npz", say=lambda line: None)) as archive:
        assert archive["X"].tolist() == [1.0]

    wrong = Source(numbers, {f"{address}/one?again": f"md5:{md5[::-1]}"}, "1 B")
    monkeypatch.setitem(SOURCES, "wrong.npz", wrong)
    with pytest.raises(FileNotFoundError, match=r"downloading it from .* failed: ValueError"):
        obtain("wrong.npz", say=lambda line: None)
    absent = Source(numbers, {f"{address}/two": None}, "1 B")
    monkeypatch.setitem(SOURCES, "absent.npz", absent)
    with pytest.raises(FileNotFoundError, match="failed: HTTPError: 404"):
        obtain("absent.npz", say=lambda line: None)
    assert find_file("wrong.npz") is find_file("absent.npz") is None


def test_no_network(cache, monkeypatch):
    refused = Source(numbers, {"http://127.0.0.1:9/one": None}, "1 B")
    monkeypatch.setitem(SOURCES, "new.npz", refused)
    with pytest.raises(FileNotFoundError) as caught:
        obtain("new.npz", say=lambda line: None)
    message = str(caught.value)
    assert message.startswith("new.npz is not at hand (BOCHNER_DATA is not set), nor in the cache")
    assert message.endswith(", and 127.0.0.1 cannot be reached.")
    assert "\n" not in message


def test_no_network_for_scikit_learn(cache, monkeypatch):
    def fetch_covtype(data_home):
        warnings.warn("Retry downloading from url: https://somewhere", stacklevel=2)
        raise URLError("[Errno -2] Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", fetch_covtype)
    with pytest.raises(FileNotFoundError, match=r", and figshare\.com cannot be reached\.$"):
        obtain("covtype.npz", say=lambda line: None)


def test_long_reasons_end_with_a_word(cache, monkeypatch):
    def make(path):
        raise ValueError("unexpected " * 50)

    monkeypatch.setitem(SOURCES, "new.npz", Source(make, {"http://home/1": "md5:1"}, "1 B"))
    with pytest.raises(FileNotFoundError, match=r"failed: ValueError: .*unexpected \.\.\.$"):
        obtain("new.npz", say=lambda line: None, fetch=lambda address, known, path: path)


def test_offline_and_unknown(cache, tmp_path, monkeypatch):
    def fetch(*arguments):
        raise AssertionError("offline")

    with pytest.raises(FileNotFoundError, match=r"downloads are forbidden \(--offline\)"):
        obtain("mnist.npz", offline=True, fetch=fetch)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"nothing.npz is not in .*\(BOCHNER_DATA\)"):
        obtain("nothing.npz", fetch=fetch)


def test_missing_package_is_named(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match="install the package pooch"):
        obtain("a9a.npz", say=lambda line: None)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (numbers, "ValueError: could not convert"),
        (SOURCES["adult.npz"].make, "BadZipFile"),
        (SOURCES["cifar10_hog.npz"].make, "ReadError"),
    ],
)
def test_a_failed_conversion_leaves_nothing(make, reason, cache, monkeypatch):
    def fetch(address, known, path):
        path.parent.mkdir(parents=True)
        path.write_text("not what was expected")
        return path

    monkeypatch.setitem(SOURCES, "new.npz", Source(make, {"http://home/1": None}, "1 B"))
    with pytest.raises(FileNotFoundError, match=f"failed: {reason}"):
        obtain("new.npz", say=lambda line: None, fetch=fetch)
    assert find_file("new.npz") is None


def test_says_to_stderr_by_default(cache, monkeypatch, capsys):
    monkeypatch.setattr(download, "_retrieve", lambda address, known, path: path)
    monkeypatch.setitem(
        SOURCES, "new.npz", Source(lambda p: {"X": np.ones(1)}, {"a/b": "md5:1"}, "2 B")
    )
    obtain("new.npz")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Downloading new.npz (2 B) from a/b")


def test_sources_that_scikit_learn_fetches(cache, monkeypatch):
    X = np.arange(108).reshape(2, 54)

    class Bunch:
        data, target = X, np.array([1, 7])

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda data_home: Bunch)
    said = []
    with np.load(obtain("covtype.npz", say=said.append)) as archive:
        assert archive["X"].dtype == np.int16
        np.testing.assert_array_equal(archive["X"], X)
    assert "scikit-learn's fetch_covtype" in said[0]
    assert "not quite those" in said[1]


@pytest.mark.parametrize("file", [file for file, source in SOURCES.items() if source.digest])
def test_digests_are_those_of_the_files_at_hand(file):
    path = find_file(file)
    if path is None:
        pytest.skip(f"{VARIABLE} names no folder with {file}")
    with np.load(path) as archive:
        arrays = {k: archive[k] for k in archive if k not in ("columns", "geometry")}
    assert digest(arrays) == SOURCES[file].digest


def test_years(cache):
    cache.mkdir()
    np.savez(
        cache / "yearmsd.npz",
        X_train=np.zeros((3, 90), dtype=np.float32),
        y_train=np.array([1990, 2000, 2010], dtype=np.float32),
        X_test=np.zeros((1, 90), dtype=np.float32),
        y_test=np.array([1999], dtype=np.float32),
    )
    data = load_yearmsd()
    assert str(data) == "yearmsd: 3 rows, 90 columns, 1 to test"
    assert data.y_train.dtype == np.float64
