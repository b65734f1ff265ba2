"""Builds a version of ours on a host: ``PYTHONPATH=WHEEL python3 -m … WHEEL PINS FOLDER``.

The distribution's own Python reads this straight out of the wheel that it then installs. Standard library only.
"""

import sys
from pathlib import Path

from worker.embedded.environment import build, is_built


def main(arguments: list[str]) -> int:
    wheel, pins, folder = (Path(each) for each in arguments)
    if not is_built(folder):
        build(folder, pins, folder.with_name(f"{folder.name}.log"), ("--no-cache",), wheel)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
