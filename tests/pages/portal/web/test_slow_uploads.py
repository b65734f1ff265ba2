"""An archive has to keep a pace; the thread that waits for it is given back where it does not."""

import socket
from collections.abc import Iterator

import pytest
from werkzeug.exceptions import RequestTimeout

from portal.web import slow_uploads
from portal.web.slow_uploads import MinimumRateBody
from tests.pages.portal.filled_portal import House

PART = (
    b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n'
    b"Content-Type: application/zip\r\n\r\nabc"
)


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The sender's end and the portal's."""
    theirs, ours = socket.socketpair()
    with theirs, ours:
        ours.settimeout(30)
        yield theirs, ours


def test_a_body_that_hardly_moves_ends(line: tuple[socket.socket, socket.socket]) -> None:
    theirs, ours = line
    theirs.sendall(b"ab")
    with ours.makefile("rb") as arriving, pytest.raises(RequestTimeout):
        MinimumRateBody(arriving, ours, window=0.05, least=3).read(10)
    ours.sendall(b"an answer")
    assert theirs.recv(9) == b"an answer"


def test_a_body_that_keeps_its_pace_is_read_to_its_end(line: tuple[socket.socket, socket.socket]) -> None:
    theirs, ours = line
    with ours.makefile("rb") as arriving:
        body = MinimumRateBody(arriving, ours, window=30, least=3)
        for _ in range(3):
            theirs.sendall(b"abc")
            assert body.read(3) == b"abc"
            body.check_rate()
        body.end()
    assert not body.is_too_slow and body.received == body.received_before == 9


def test_the_sender_of_an_archive_that_stops_is_told_and_nothing_is_kept(
    house: House, line: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = line
    theirs.sendall(PART)
    monkeypatch.setattr(MinimumRateBody.__init__, "__defaults__", (0.05, slow_uploads.MIN_BYTES))
    with ours.makefile("rb") as arriving:
        answer = house.visitor("administrator").post(
            f"/workspaces/{house.ids['workspace_id']}/datasets/new",
            content_type="multipart/form-data; boundary=x",
            environ_overrides={"gunicorn.socket": ours, "wsgi.input": arriving, "CONTENT_LENGTH": "100000"},
        )
    assert answer.status_code == 408 and "too long to arrive" in answer.text
    incoming = house.cluster.settings.storage_dir / "incoming"
    assert list(incoming.glob("*")) == []
