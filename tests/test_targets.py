

def test_rows_of_one_class_have_nothing_to_centre():
    with pytest.raises(ValueError, match="one class only"):
        Target(np.array([0, 1])).columns_and_signs(np.ones(5, int), centred=True)
