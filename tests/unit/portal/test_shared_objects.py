"""What the requests of one process share is kept by its class, for each application by itself."""

import pytest
from flask import Flask

from portal.shared_objects import share_object, shared_object


class Counter:
    pass


def test_the_last_shared_object_of_a_class_counts() -> None:
    app, first, second = Flask("portal"), Counter(), Counter()
    share_object(app, Counter, first)
    share_object(app, Counter, second)
    assert shared_object(Counter, app) is second
    with app.app_context():
        assert shared_object(Counter) is second


def test_an_application_has_nothing_of_another_one() -> None:
    app, other = Flask("portal"), Flask("portal")
    share_object(app, Counter, Counter())
    share_object(other, list, [])
    with pytest.raises(KeyError):
        shared_object(Counter, other)
