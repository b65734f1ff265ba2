"""Check that the portal's port is free, and name the program that holds it if it is not."""

import errno
import socket

import psutil

from worker.bootstrap.terminal import exit_with_error


def check_port_free(port: int, host: str = "127.0.0.1") -> None:
    """Ends with the holder's name where another program listens, or where this user may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            exit_with_error("Port {port} needs root. Choose one from 1024: make up PORT=8471", port=port)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                exit_with_error("{host} is no address of this machine any more. Name another one, or: "
                     "make up HOST=127.0.0.1", host=host)  # fmt: skip
            holder = find_port_holder(port)
            other = port + 1 if port < 65535 else 8471
            if holder is None:
                exit_with_error("Port {port} is taken by another program. Choose another: make up PORT={other}",
                     port=port, other=other)  # fmt: skip
            exit_with_error("Port {port} is taken by {name} (process {pid}). Choose another: make up PORT={other}",
                 port=port, name=holder.name(), pid=holder.pid, other=other)  # fmt: skip


def find_port_holder(port: int) -> psutil.Process | None:
    """None where the kernel does not tell this user."""
    try:
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port and each.pid:
                return psutil.Process(each.pid)
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return None
    return None
