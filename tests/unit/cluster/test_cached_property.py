"""A property that is computed once for each object holds up no other object."""

import threading
from concurrent.futures import ThreadPoolExecutor

from cluster.cached_property import unlocked_cached_property


def test_what_is_computed_for_one_object_keeps_no_other_waiting() -> None:
    begun, may_end = threading.Event(), threading.Event()

    class Page:
        def __init__(self, is_slow: bool) -> None:
            self.is_slow = is_slow

        @unlocked_cached_property
        def content(self) -> object:
            if self.is_slow:
                begun.set()
                may_end.wait(10)
            return object()

    slow, quick = Page(True), Page(False)
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(lambda: slow.content)
        assert begun.wait(10)
        content = pool.submit(lambda: quick.content)
        try:
            assert content.result(timeout=5) is quick.content
            assert not other.done()
        finally:
            may_end.set()
    assert slow.content is other.result()
