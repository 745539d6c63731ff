"""Files that are written whole or not at all."""

import os
import threading

import pytest

from bochner.records.files import WriteError, write_text_whole, writing_folder, writing_whole


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


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "results"
    with pytest.raises(TypeError), writing_folder(folder) as part:
        (part / "a.txt").write_text(None)
    assert os.listdir(tmp_path) == []
    for text in ("old", "new"):
        with writing_folder(folder) as part:
            (part / "inner").mkdir()
            (part / "inner" / "a.txt").write_text(text)
            (part / f"{text}.txt").write_text(text)
    assert (folder / "inner" / "a.txt").read_text() == "new"
    assert sorted(os.listdir(folder)) == ["inner", "new.txt", "old.txt"]
    assert os.listdir(tmp_path) == ["results"]
    refused = pytest.raises(WriteError, match=r"nowhere.a cannot be written: No such file")
    with refused, writing_folder(tmp_path / "nowhere" / "a"):
        pass


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
