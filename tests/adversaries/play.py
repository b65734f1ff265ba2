"""Plays one move as the user that this process has: ``python3 -m tests.adversaries.play job NAME``.

The ground (`Ground.to_json`) comes as one line of standard input. The process says `ready` once the move stands, and
goes on until its standard input ends.
"""

import json
import os
import sys

from tests.adversaries import job_moves, service_moves
from tests.adversaries.moves import Ground, Refused

MOVES = {"job": job_moves.MOVES, "service": service_moves.MOVES}


def main(arguments: list[str]) -> int:
    adversary, name = arguments
    assert 0 not in (*os.getresuid(), *os.getresgid()), "an adversary is nobody of power"
    line = sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined]
    try:
        MOVES[adversary][name].act(Ground(**json.loads(line)))
    except Refused as refusal:
        print("refused", refusal)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
