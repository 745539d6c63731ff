import os

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with data, in which commands are given."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the disk is not what is tested
    monkeypatch.chdir(tmp_path)
    from tests.cli.commands import table  # needs the program's packages

    people = table(400)
    people[:300].to_csv("train.csv", index=False)
    people[300:].to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture(autouse=True)
def cheap_metrics(quick_metric):
    """How well a metric is learned is tested elsewhere."""


@pytest.fixture(autouse=True)
def _one_split(one_split):
    """Splits of few rows are tested with the models; here they would only take time."""
