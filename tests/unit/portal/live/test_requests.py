"""What a request says is read as the portal reads it."""

import pytest

from cluster.domain.errors import Refused
from cluster.store.base import LARGEST_ID
from portal.live.requests import Request


def a_request(query: bytes = b"", **headers: str) -> Request:
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request({"method": "GET", "path": "/", "query_string": query, "headers": pairs})


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ("", ""),
        ("gc=1", "1"),
        ("other=2; gc=1", "1"),
        ("gc=1;gc=2", "1"),
        ("gcx=2; xgc=3", ""),
        ("gc", ""),
        ("gc=a=b", "a=b"),
    ],
)
def test_a_cookie_is_found_among_others(sent: str, value: str) -> None:
    assert a_request(cookie=sent).cookie("gc") == value


def test_of_several_parameters_with_one_name_the_first_counts() -> None:
    query = a_request(b"rank=1&rank=2&find=&name=%ed%95%9c").query
    assert query == {"rank": "1", "find": "", "name": "한"}


@pytest.mark.parametrize(
    ("sent", "number"), [(b"", None), (b"id=", None), (b"id=7", 7), (b"id=999999999999", LARGEST_ID)]
)
def test_a_number_is_one_that_a_row_can_have(sent: bytes, number: int | None) -> None:
    assert a_request(sent).id_param("id") == number


@pytest.mark.parametrize("sent", [b"id=-1", b"id=x", b"id=1e3", b"id=%d9%a1", b"id=9999999999999"])
def test_what_is_no_number_is_refused(sent: bytes) -> None:
    with pytest.raises(Refused):
        a_request(sent).id_param("id")


def test_a_request_with_hundreds_of_parameters_is_refused() -> None:
    with pytest.raises(Refused):
        _ = a_request(b"&".join(b"a=1" for _ in range(500))).query
