from bochner.linear.search import search_along, search_by_slope


def test_search_along():
    asked = []

    def score(value):
        asked.append(value)
        return -abs(value - 9)

    assert search_along([1, 2, 4, 8, 16], 2, score) == 8
    assert asked == [2, 4, 8, 16]
    assert search_along([1, 2, 4], 4, lambda value: -value) == 1
    assert search_along([1, 2, 4], 2, lambda value: 0.0) == 2  # nothing better: stay


def test_search_by_slope():
    values, asked = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], []

    def parabola(value, top):
        asked.append(value)
        return -((value - top) ** 2), 2 * (top - value)

    def search(start, top):
        asked.clear()
        return search_by_slope(values, start, lambda value: parabola(value, top))

    assert search(1.0, 3.3) == 3.0  # the slope of 3 points on, to a value that is no better
    assert asked == [1.0, 2.0, 3.0, 4.0]
    assert search(1.0, 2.7) == 3.0  # that of 3 points back
    assert asked == [1.0, 2.0, 3.0]
    assert search(3.0, 2.7) == 3.0
    assert asked == [3.0, 2.0]
    assert search(2.0, -1.0) == 0.0
    assert search(5.0, 9.0) == 5.0  # the end of the list
    assert asked == [5.0]
    assert search(2.0, 2.0) == 2.0  # no slope: stay
    assert asked == [2.0]


def test_a_slope_that_promises_too_little_is_not_followed():
    asked = []

    def judge(value):
        asked.append(value)
        return -1.0 - 0.1 / value, 0.1 / value**2

    assert search_by_slope([1, 2, 4, 8, 16], 1, judge, least_gain=0.01) == 4
    assert asked == [1, 2, 4]
    assert search_by_slope([1, 2, 4, 8, 16], 1, judge) == 16
