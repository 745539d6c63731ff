import pytest


@pytest.fixture(autouse=True)
def cheap_metrics(quick_metric):
    """How well a metric is learned is tested elsewhere."""
