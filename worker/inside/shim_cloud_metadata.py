"""Blocks for the jobs' users the metadata addresses at which clouds give out a machine's credentials.

A routing rule, made over netlink, answers EACCES to every process whose uid is a job's. ip-rule(8) writes it as `from
all to 169.254.0.0/16 uidrange FIRST-LAST prohibit`. It does not apply to the machine's own services. Port 53 stays
open, because some clouds run their name server at these addresses.
"""

import errno
import os
import socket
import struct
from typing import List, Optional

NETWORKS = (
    (socket.AF_INET, "169.254.0.0", 16),
    (socket.AF_INET6, "fd00:ec2::254", 128),
    (socket.AF_INET6, "fd20:ce::254", 128),
)
"""IPv6's own link-local network stays open, because ranks on InfiniBand and Ethernet find each other by it."""
RTM_NEWRULE, RTM_DELRULE = 32, 33
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2
FRA_DST, FRA_PRIORITY, FRA_TABLE, FRA_UID_RANGE, FRA_DPORT_RANGE = 1, 6, 15, 20, 24
FR_ACT_TO_TBL, FR_ACT_PROHIBIT = 1, 8
TABLE_MAIN = 254
NAMES_PORT = 53
PRIORITY = 16950
"""The rule comes before the main table (32766) and after an administrator's rules. The
exception comes one before it.
"""
SILENT = (errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.ENOENT)
"""A machine that answers with these errors has no IPv6, and so nothing to block."""


def block_cloud_metadata(first: int, last: int) -> Optional[str]:
    """Ensures that the rules exist for these uids. Returns None, or the kernel's error if the
    machine refuses them.
    """
    return change_rules(RTM_NEWRULE, first, last, NLM_F_CREATE | NLM_F_EXCL)


def unblock_cloud_metadata(first: int, last: int) -> Optional[str]:
    return change_rules(RTM_DELRULE, first, last, 0)


def change_rules(kind: int, first: int, last: int, flags: int) -> Optional[str]:
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
            for family, network, length in NETWORKS:
                for rule in rules_of(family, network, length, first, last):
                    error = request_kernel(kernel, kind, flags, rule)
                    if error in SILENT and (family == socket.AF_INET6 or kind == RTM_DELRULE):
                        continue
                    if error not in (0, errno.EEXIST):
                        return os.strerror(error)
    except OSError as error:
        return error.strerror
    return None


def rules_of(family: int, network: str, length: int, first: int, last: int) -> List[bytes]:
    """The two rules of a network: its name server stays reachable, everything else is prohibited."""
    where = [
        netlink_attribute(FRA_DST, socket.inet_pton(family, network)),
        netlink_attribute(FRA_UID_RANGE, struct.pack("=II", first, last)),
    ]
    names = netlink_attribute(FRA_DPORT_RANGE, struct.pack("=HH", NAMES_PORT, NAMES_PORT))
    prohibit = rule_message(family, length, FR_ACT_PROHIBIT, PRIORITY, where)
    if not has_port_rules(os.uname().release):
        return [prohibit]
    return [rule_message(family, length, FR_ACT_TO_TBL, PRIORITY - 1, where + [names]), prohibit]


def has_port_rules(release: str) -> bool:
    """Whether the kernel is Linux 4.17 or newer. An older one would ignore the port and open all ports."""
    numbers = [int(word) for word in release.replace("-", ".").split(".")[:2] if word.isdigit()]
    return numbers >= [4, 17]


def rule_message(family: int, length: int, action: int, priority: int, attributes: List[bytes]) -> bytes:
    """A message of struct fib_rule_hdr and attributes, as linux/fib_rules.h defines them."""
    table = TABLE_MAIN if action == FR_ACT_TO_TBL else 0
    header = struct.pack("=BBBBBBBBI", family, length, 0, 0, table, 0, 0, action, 0)
    return header + b"".join(attributes + [netlink_attribute(FRA_PRIORITY, struct.pack("=I", priority))])


def netlink_attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def request_kernel(kernel: socket.socket, kind: int, flags: int, body: bytes) -> int:
    """Sends the request and returns the kernel's error number; 0 if it succeeded."""
    header = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_ACK | flags, 1, 0)
    kernel.send(header + body)
    answer = kernel.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] != NLMSG_ERROR:
        return errno.EPROTO
    number: int = struct.unpack_from("=i", answer, 16)[0]
    return -number
