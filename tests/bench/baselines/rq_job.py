"""What RQ's workers run; small, because each forked horse imports it anew."""

import subprocess


def run(argv, stdout):  # type: ignore[no-untyped-def]
    with open(stdout, "wb") as file:  # noqa: PTH123
        subprocess.run(argv, stdout=file, check=True)
