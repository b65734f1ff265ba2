"""What is no supervisord counts as down."""

import socket
import threading

import pytest

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor_client import SupervisorClient, SupervisordUnreachable


def test_what_answers_at_the_socket_without_being_supervisord_counts_as_down(
    places: InstallationPaths,
) -> None:
    client = SupervisorClient(places)
    assert client.is_running() is False
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(places.supervisor_socket))
        server.listen()

        def answer_twice() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                request = b""
                while b"</methodCall>" not in request:
                    request += connection.recv(4096)
                connection.sendall(b"no HTTP\r\n\r\n")
                connection.close()

        thread = threading.Thread(target=answer_twice)
        thread.start()
        assert client.is_running() is False
        with pytest.raises(SupervisordUnreachable):
            client.list_services()
        thread.join()
