"""Rules of the kernel's routing prohibit the metadata addresses to jobs' users, and leave port 53 open."""

import errno
import os
import socket
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from worker.inside import shim_cloud_metadata
from worker.inside.shim_cloud_metadata import (
    FR_ACT_PROHIBIT,
    FR_ACT_TO_TBL,
    NETWORKS,
    NLMSG_ERROR,
    PRIORITY,
    RTM_DELRULE,
    RTM_NEWRULE,
    block_cloud_metadata,
    has_port_rules,
    netlink_attribute,
    request_kernel,
    rule_message,
    rules_of,
    unblock_cloud_metadata,
)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("6.18.0-2-amd64", True),
        ("4.17.0", True),
        ("4.16.18", False),
        ("3.10.0-1160.el7.x86_64", False),
        ("5.rc1", True),
        ("unknown", False),
    ],
)
def test_rules_with_ports_need_a_kernel_that_knows_them(release: str, expected: bool) -> None:
    assert has_port_rules(release) is expected


@pytest.mark.parametrize(
    ("value", "attribute"), [(b"", b"\4\0\6\0"), (b"ab", b"\6\0\6\0ab\0\0"), (b"abcd", b"\10\0\6\0abcd")]
)
def test_an_attribute_is_filled_up_to_four_bytes(value: bytes, attribute: bytes) -> None:
    assert netlink_attribute(6, value) == attribute


def test_a_rule_has_its_header_attributes_and_priority() -> None:
    message = rule_message(socket.AF_INET, 16, FR_ACT_PROHIBIT, 7, [b"ab"])
    family, length, *_, table, _, _, action, _ = struct.unpack_from("=BBBBBBBBI", message)
    assert (family, length, table, action) == (socket.AF_INET, 16, 0, FR_ACT_PROHIBIT)
    assert message[12:14] == b"ab" and message.endswith(struct.pack("=I", 7))


@pytest.mark.parametrize("release", ["6.1.0", "4.9.0"])
def test_a_network_is_prohibited_behind_the_exception_for_names(
    monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release))
    rules = rules_of(socket.AF_INET, "169.254.0.0", 16, 100_001, 100_099)
    priorities = [struct.unpack("=I", rule[-4:])[0] for rule in rules]
    actions = [rule[7] for rule in rules]
    if release == "6.1.0":
        assert (priorities, actions) == ([PRIORITY - 1, PRIORITY], [FR_ACT_TO_TBL, FR_ACT_PROHIBIT])
    else:
        assert (priorities, actions) == ([PRIORITY], [FR_ACT_PROHIBIT])
    for rule in rules:
        assert struct.pack("=II", 100_001, 100_099) in rule and bytes([169, 254, 0, 0]) in rule


class Kernel:
    """Answers each request with an error number."""

    def __init__(self, number: int = 0, kind: int = NLMSG_ERROR) -> None:
        self.answer = struct.pack("=IHHIIi", 20, kind, 0, 1, 0, -number)
        self.sent: list[bytes] = []

    def send(self, message: bytes) -> None:
        self.sent.append(message)

    def recv(self, _: int) -> bytes:
        return self.answer


@pytest.mark.parametrize(
    ("kernel", "number"), [(Kernel(), 0), (Kernel(errno.EPERM), errno.EPERM), (Kernel(kind=7), errno.EPROTO)]
)
def test_the_kernel_answers_with_an_error_number(kernel: Kernel, number: int) -> None:
    assert request_kernel(cast(Any, kernel), RTM_NEWRULE, 0, b"body") == number
    length, kind = struct.unpack_from("=IH", kernel.sent[0])
    assert (length, kind) == (len(kernel.sent[0]), RTM_NEWRULE)
    assert kernel.sent[0].endswith(b"body")


@pytest.mark.parametrize(
    ("act", "kind", "number", "error"),
    [
        (block_cloud_metadata, RTM_NEWRULE, 0, None),
        (block_cloud_metadata, RTM_NEWRULE, errno.EEXIST, None),
        (block_cloud_metadata, RTM_NEWRULE, errno.EPERM, os.strerror(errno.EPERM)),
        (block_cloud_metadata, RTM_NEWRULE, errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT)),
        (unblock_cloud_metadata, RTM_DELRULE, errno.ENOENT, None),
    ],
)
def test_rules_that_stand_or_are_gone_already_are_no_failure(
    monkeypatch: pytest.MonkeyPatch, act: Any, kind: int, number: int, error: str | None
) -> None:
    asked: list[int] = []

    def answer(kernel: object, kind: int, flags: int, body: bytes) -> int:
        asked.append(kind)
        return number

    monkeypatch.setattr(shim_cloud_metadata, "request_kernel", answer)
    assert act(100_001, 100_099) == error
    assert set(asked) == {kind}
    assert error is not None or len(asked) == 2 * len(NETWORKS)
