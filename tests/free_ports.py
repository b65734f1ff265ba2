"""Ports for servers of tests that nobody else takes before the server has them."""

import os
import random
import socket

BELOW_EPHEMERAL = range(20_000, 32_000)
"""Linux gives connections their own ends from 32768 on; a port asked of it could be one of those a moment later."""

chance = random.Random(os.getpid())


def free_port() -> int:
    """One on which nobody listens; test processes side by side draw different ones."""
    while True:
        port = chance.choice(BELOW_EPHEMERAL)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
