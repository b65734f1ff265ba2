"""Each listening socket is held as long as supervisord lives."""

from types import SimpleNamespace

from worker.embedded.supervisor_sockets import make_socket_holder


def test_the_sockets_of_all_programs_that_have_one_are_held() -> None:
    manager = SimpleNamespace(get_socket=lambda: "portal.sock")
    groups = {"portal": SimpleNamespace(socket_manager=manager), "worker": SimpleNamespace()}
    groups["none"] = SimpleNamespace(socket_manager=None)
    holder = make_socket_holder(SimpleNamespace(process_groups=groups))
    assert holder.sockets == ("portal.sock",)
