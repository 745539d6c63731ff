"""Files that are written whole or not at all."""

import os
import threading

import pytest

from bochner.records.files import WriteError, write_text_whole, writing_whole


def test_a_failure_leaves_what_was_there(tmp_path):
    path = write_text_whole(tmp_path / "a.txt", "größe")
    assert path.read_text(encoding="utf-8") == "größe"
    with pytest.raises(TypeError), writing_whole(path) as file:
        file.writelines([b"half", None])
    assert path.read_text(encoding="utf-8") == "größe"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_the_system_refuses_is_one_line(tmp_path):
    path = tmp_path / "nowhere" / "a.txt"
    with pytest.raises(WriteError, match=r"nowhere.a\.txt cannot be written: No such file"):
        write_text_whole(path, "x")


def test_links_are_followed(tmp_path):
    (tmp_path / "there.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("there.txt")
    write_text_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there.txt").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_text_whole(path, "through")
    reader.join(timeout=30)
    assert found == [b"through"]
    assert path.is_fifo()
