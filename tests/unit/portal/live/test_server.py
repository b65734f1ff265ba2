"""Without a socket from the process manager the server says who hands one over."""

import pytest

from portal.live.server import inherited_socket


def test_without_a_socket_it_says_who_hands_one_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LISTEN_FDS", raising=False)
    with pytest.raises(SystemExit, match="LISTEN_FDS"):
        inherited_socket()
