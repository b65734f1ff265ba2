"""The process of the programs whose logs are followed: appends lines at an even pace, each with its moment.

python -m tests.bench.portal_load.log_writers LINES_PER_SECOND SECONDS FILE...
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path

LINE_BYTES = 70


def line_of(number: int) -> bytes:
    """`1763600000.123456 17 xxx…`: the moment at which it is written, and its number from 0."""
    return f"{time.time():.6f} {number} ".encode().ljust(LINE_BYTES - 1, b"x") + b"\n"


def parse_moment_of(line: bytes) -> float:
    return float(line[: line.index(b" ")])


def write_logs(files: list[Path], lines_per_second: float, seconds: float) -> None:
    """All files get their n-th line at about the same moment, spread over the pause between two lines."""
    pause = 1 / lines_per_second
    with ExitStack() as stack:
        opened = [stack.enter_context(file.open("ab", buffering=0)) for file in files]
        begun = time.monotonic()
        for number in range(int(lines_per_second * seconds)):
            for place, file in enumerate(opened):
                due = begun + pause * (number + place / len(opened))
                if (early := due - time.monotonic()) > 0.002:
                    time.sleep(early)
                file.write(line_of(number))


if __name__ == "__main__":
    write_logs([Path(name) for name in sys.argv[3:]], float(sys.argv[1]), float(sys.argv[2]))
