from bochner.linear.search import search_along


def test_search_along():
    asked = []

    def score(value):
        asked.append(value)
        return -abs(value - 9)

    assert search_along([1, 2, 4, 8, 16], 2, score) == 8
    assert asked == [2, 4, 8, 16]
    assert search_along([1, 2, 4], 4, lambda value: -value) == 1
    assert search_along([1, 2, 4], 2, lambda value: 0.0) == 2  # nothing better: stay
