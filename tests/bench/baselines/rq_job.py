"""RQ's workers run this job; it is small, because each forked worker imports it again."""

import subprocess


def run(argv, stdout):  # type: ignore[no-untyped-def]
    with open(stdout, "wb") as file:  # noqa: PTH123
        subprocess.run(argv, stdout=file, check=True)
