"""The CUDA image is too large to be built by the tests: docs/measurements/cuda-image.md is of the inputs of today."""

import re
from pathlib import Path

from worker.environments.build_platform import BuildPlatform
from worker.images.description import inputs_digest, read_variant
from worker.images.gpu_code import CAPABILITIES

MEASURED = Path(__file__).resolve().parents[4] / "docs" / "measurements" / "cuda-image.md"
MACHINE = BuildPlatform("debian-12", "x86_64", "glibc-2.36", ("avx", "f16c", "fma"), "3.11")
AGAIN = (
    "the CUDA image's inputs have changed since it was built: build it (python -m worker.images build --variant cuda), "
    f"run what {MEASURED.name} lists, and write down what came of it"
)


def test_the_image_that_was_measured_is_that_of_the_description() -> None:
    (digest,) = re.findall(
        r"^\| digest of the inputs \| `([0-9a-f]{12})` \|$", MEASURED.read_text(), re.MULTILINE
    )
    assert digest == inputs_digest(read_variant("cuda"), MACHINE), AGAIN


def test_the_measured_table_has_each_capability_that_the_image_serves() -> None:
    rows = re.findall(r"^\| (\d+\.\d) \|(.*)\|$", MEASURED.read_text(), re.MULTILINE)
    assert tuple(capability for capability, _ in rows) == CAPABILITIES
    assert not [row for row in rows if "none" in row[1]]
