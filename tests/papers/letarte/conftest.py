import pytest

from bochner.data.local import load_local
from bochner.papers.letarte import common, frequencies, mnist49, toys


@pytest.fixture(autouse=True)
def _nothing_kept():
    for kept in (
        common.load_rows,
        common.load_split,
        frequencies._candidates,
        mnist49.draw_split,
        toys.draw_split,
    ):
        kept.cache_clear()


@pytest.fixture
def breast():
    return load_local("breast")
