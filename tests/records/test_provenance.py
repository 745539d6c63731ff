from bochner.records.provenance import machine, machine_text, versions


def test_provenance():
    assert set(versions()) >= {"python", "numpy", "scikit-learn"}
    assert machine("cuda")["device"] == "cuda"
    assert machine()["cores"] >= 1


def test_a_machine_in_words():
    about, text = machine(), machine_text()
    assert text.startswith(f"{about['cores']} core")
    assert about["memory"] is None or f", {about['memory']} of memory" in text
    assert machine_text("no such device").endswith(", no such device")
