"""Build the virtual environment of one release on a host: ``PYTHONPATH=WHEEL python3 -m
worker.bootstrap.release_environment WHEEL PINS FOLDER``.

With - instead of a wheel the environment has none of our code: Ansible's.

The distribution's own Python runs this module out of the wheel that it then installs. It uses the standard library
only.
"""

import os
import sys
from pathlib import Path

from worker.bootstrap.virtual_environments import build_virtual_environment, is_built


def main(arguments: list[str]) -> int:
    # This module was found by PYTHONPATH. pip would take the packages there for installed ones.
    os.environ.pop("PYTHONPATH", None)
    pins, folder = Path(arguments[1]), Path(arguments[2])
    wheel = None if arguments[0] == "-" else Path(arguments[0])
    if not is_built(folder):
        build_virtual_environment(
            folder, pins, folder.with_name(f"{folder.name}.log"), ("--no-cache",), wheel
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
