"""The programs of the measured jobs: the same few lines for every contender."""

from pathlib import Path

STAMP = "#!/bin/sh\nexec date +%s.%N\n"
NAP = "#!/bin/sh\ndate +%s.%N\nsleep 0.2\ndate +%s.%N\n"
TRUE = "#!/bin/sh\nexec /bin/true\n"
PROGRAMS = {"stamp.sh": STAMP, "nap.sh": NAP, "true.sh": TRUE}
TRAINING_CODE = [(name, text.encode()) for name, text in PROGRAMS.items()] + [("unused.py", b"pass\n")]
"""The same as the code of a training, which needs a Python script."""


def write_programs(folder: Path) -> None:
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
