"""What is said at the repair broker: everything else than repairs, hosts and locks that it knows is refused."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.repairs.definition import KUBERNETES_CHECKS, CheckKind, RepairCheck
from cluster.services.repairs.catalogue import read_catalogue_entry
from tests.conftest import ANSIBLE
from worker.repairs.broker_protocol import (
    BrokerInventory,
    BrokerRequest,
    ask_broker,
    parse_broker_request,
    probe_variables,
    read_json_line,
)

NAMES = ("restart-front", "restart-worker-agent", "reboot-node", "restart-portal")
KNOWN = BrokerInventory(
    {name: read_catalogue_entry(ANSIBLE, name).repair for name in NAMES}, {"gpu01"}, {"gpu01", "gpu02"}
)
GOOD: dict[str, Any] = {
    "number": "7",
    "repair": "restart-worker-agent",
    "hosts": ["gpu01", "gpu02"],
    "locks": ["master", "node-2"],
    "dry_run": False,
    "probe_port": None,
}


def test_what_a_client_sends_is_what_the_broker_reads() -> None:
    request = BrokerRequest(
        "7", KNOWN.repairs["restart-worker-agent"], ("gpu01", "gpu02"), ("master", "node-2"), True
    )
    words = json.loads(json.dumps(request.to_data()))
    assert parse_broker_request(words, KNOWN) == request


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"number": "../7"}, "number"),
        ({"number": 7}, "number"),
        ({"number": "0"}, "number"),
        ({"repair": "../../site"}, "repair"),
        ({"repair": "restart-portal"}, "repair"),
        ({"hosts": []}, "hosts"),
        ({"hosts": "gpu01"}, "hosts"),
        ({"hosts": ["gpu01", "gpu01"]}, "hosts"),
        ({"hosts": ["gpu03"]}, "hosts"),
        ({"repair": "restart-front", "hosts": ["gpu02"], "locks": ["node-2"]}, "hosts"),
        ({"locks": ["master"]}, "locks"),
        ({"locks": ["master", "../x"]}, "locks"),
        ({"locks": ["master", "node-2"], "probe_port": 443}, "locks"),
        ({"dry_run": "no"}, "dry_run"),
        ({"probe_port": 0}, "probe_port"),
        ({"probe_port": True}, "probe_port"),
        ({"playbook": "x.yml"}, "request"),
    ],
)
def test_everything_else_is_refused_with_the_field_that_is_wrong(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_broker_request(GOOD | changed, KNOWN)
    assert refused.value.field == field


def test_a_repair_that_cannot_look_ahead_is_not_asked_to() -> None:
    words = GOOD | {"repair": "reboot-node", "dry_run": True}
    with pytest.raises(Refused):
        parse_broker_request(words, KNOWN)
    assert parse_broker_request(words | {"dry_run": False}, KNOWN).repair.name == "reboot-node"


def test_hosts_are_asked_only_for_what_a_check_wants_to_know() -> None:
    checks = [
        RepairCheck(CheckKind.UNITS_RUNNING, {"units": ["b.service", "a.service"]}),
        RepairCheck(CheckKind.ENDPOINT_ANSWERS, {"door": "/run/portal.sock"}),
        RepairCheck(CheckKind.DISK_FREE, {"share": 0.1}),
    ]
    assert probe_variables(checks, 443) == {
        "look_units": '["a.service", "b.service"]',
        "look_doors": '["/run/portal.sock"]',
        "look_site": "0",
        "look_gpus": "no",
        "look_kubernetes": "no",
        "look_images": "no",
    }


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (CheckKind.SITE_ANSWERS, "look_site", "443"),
        (CheckKind.CERTIFICATE_LASTS, "look_site", "443"),
        (CheckKind.GPUS_ANSWER, "look_gpus", "yes"),
        (CheckKind.IMAGES_STAND, "look_images", "yes"),
        *((kind, "look_kubernetes", "yes") for kind in sorted(KUBERNETES_CHECKS)),
    ],
)
def test_each_kind_of_check_has_its_question(kind: CheckKind, name: str, value: str) -> None:
    assert probe_variables([RepairCheck(kind)], 443)[name] == value


@pytest.fixture
def broker(tmp_path: Path) -> Callable[[bytes], Path]:
    """The socket of one that answers one connection so."""

    def answering(answer: bytes) -> Path:
        path = tmp_path / "broker.sock"
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with server, server.accept()[0] as connection:
                read_json_line(connection)
                connection.sendall(answer)

        threading.Thread(target=serve).start()
        return path

    return answering


def test_a_request_that_is_done_returns(broker: Callable[[bytes], Path]) -> None:
    ask_broker(broker(b'{"done": true}\n'), {"do": "cancel", "number": "7"})


@pytest.mark.parametrize(
    ("answer", "code", "data"),
    [
        (b'{"code": "repair.refused_hosts", "data": {"names": ["x"]}}\n', "repair.refused_hosts", {"names": ["x"]}),
        (b"", "repair.no_runner", {"error": "it ended before the run began"}),
        (b"[1]\n", "repair.no_runner", {"error": "it ended before the run began"}),
        (b'{"done": 1}\n', "repair.no_runner", {"error": "it ended before the run began"}),
    ],
)  # fmt: skip
def test_a_request_that_is_not_says_why(
    broker: Callable[[bytes], Path], answer: bytes, code: str, data: dict[str, Any]
) -> None:
    with pytest.raises(Unavailable) as failed:
        ask_broker(broker(answer), {"do": "cancel", "number": "7"})
    assert (failed.value.code, failed.value.data) == (code, data)


def test_without_a_broker_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as failed:
        ask_broker(tmp_path / "none.sock", {"do": "cancel", "number": "7"})
    assert failed.value.code == "repair.no_runner"
