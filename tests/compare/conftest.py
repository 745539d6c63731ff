import pytest


@pytest.fixture(autouse=True)
def cheap_metrics(quick_metric):
    """How well a metric is learned is tested elsewhere."""


@pytest.fixture(autouse=True)
def _one_split(one_split):
    """Splits of few rows are tested with the models; here they would only take time."""
