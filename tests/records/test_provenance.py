from bochner.records.provenance import machine, versions


def test_provenance():
    assert set(versions()) >= {"python", "numpy", "scikit-learn"}
    assert machine("cuda")["device"] == "cuda"
    assert machine()["cores"] >= 1
