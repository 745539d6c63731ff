import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bochner.engine.threads import (
    default_threads,
    limited_threads,
    ordered_map,
    side_by_side,
    single_threaded_blas,
)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_results_come_in_order(n_threads):
    assert list(ordered_map(lambda i: i * i, range(50), n_threads)) == [i * i for i in range(50)]


def test_blas_is_limited_inside_and_restored_outside():
    before = blas_threads()
    inside = list(ordered_map(lambda _: blas_threads(), range(4), 2))
    assert inside == [{1}] * 4
    assert blas_threads() == before


def test_threads_are_limited_and_restored():
    before = blas_threads()
    with limited_threads(3):
        assert (blas_threads(), default_threads()) == ({3}, 3)
        assert list(ordered_map(lambda _: blas_threads(), range(2), 2)) == [{1}] * 2
        assert blas_threads() == {3}
        with limited_threads(None):
            assert default_threads() == 3
    assert blas_threads() == before


def test_regions_that_overlap_restore_the_callers_limit():
    before = blas_threads()
    both_open = threading.Barrier(2)

    def work(_):
        return None

    def region():
        results = ordered_map(work, range(3), 2)
        next(results)
        both_open.wait(10)
        list(results)

    threads = [threading.Thread(target=region) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_a_region_may_be_closed_by_another_thread_than_opened_it():
    """The one that opened it lives on, as those of a pool do."""
    inside, opened, joined, ended, over = [], *(threading.Event() for _ in range(4))

    def opening():
        with single_threaded_blas:
            inside.append(blas_threads())
            opened.set()
            joined.wait(10)
        ended.set()
        over.wait(10)

    thread = threading.Thread(target=opening)
    with limited_threads(3):
        thread.start()
        opened.wait(10)
        with single_threaded_blas:
            joined.set()
            ended.wait(10)
        assert (inside, blas_threads()) == ([{1}], {3})
        with limited_threads(2):
            assert blas_threads() == {2}
        over.set()
        thread.join()


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_work(n_threads, error):
    before, begun = blas_threads(), []

    def work(i):
        begun.append(i)
        if i == 5:
            raise error("five")
        return i

    with pytest.raises(error, match="five"):
        list(ordered_map(work, range(1000), n_threads))
    assert len(begun) < 1000
    assert blas_threads() == before


def test_the_callers_limit_is_the_default():
    with threadpool_limits(1, user_api="blas"):
        assert default_threads() == 1
    assert default_threads() == min(blas_threads(), default=default_threads())


def test_no_tasks():
    assert list(ordered_map(lambda i: i, [], 4)) == []


def test_tasks_may_ask_for_threads_of_their_own():
    """They get none: all may be waiting for each other."""

    def outer(task):
        return sum(ordered_map(lambda k: k * task, range(50), 4))

    assert list(ordered_map(outer, range(20), 4)) == [1225 * task for task in range(20)]


@pytest.mark.parametrize("n_threads", [None, 1, 2])
@pytest.mark.parametrize("n_tasks", [0, 1, 5])
def test_side_by_side_keeps_the_order(n_threads, n_tasks):
    with threadpool_limits(2, user_api="blas"):
        assert list(side_by_side(lambda k: k * k, range(n_tasks), n_threads)) == [
            k * k for k in range(n_tasks)
        ]


def test_one_task_alone_has_the_threads_of_blas():
    with threadpool_limits(2, user_api="blas"):
        assert list(side_by_side(lambda _: default_threads(), [0])) == [2]
        assert list(side_by_side(lambda _: default_threads(), [0, 1])) == [1, 1]
