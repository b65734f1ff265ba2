"""Names of wheels are read as pip reads them, and nothing else is taken for one."""

import pytest

from cluster.domain.environments.wheels import WheelName, parse_wheel_name
from cluster.domain.errors import Refused


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        (
            "PyYAML-6.0.2-cp311-cp311-manylinux_2_17_x86_64.whl",
            WheelName("pyyaml", "6.0.2", "cp311-manylinux_2_17_x86_64"),
        ),
        (
            "torch-2.7.1+cpu-cp311-cp311-linux_x86_64.whl",
            WheelName("torch", "2.7.1+cpu", "cp311-linux_x86_64"),
        ),
        ("six-1.16.0-2-py2.py3-none-any.whl", WheelName("six", "1.16.0", "py2.py3-any")),
    ],
)
def test_a_wheel_is_known_by_its_name(name: str, parsed: WheelName) -> None:
    assert parse_wheel_name(name) == parsed


@pytest.mark.parametrize(
    "name",
    [
        "numpy.whl", "numpy-2.1.3.tar.gz", "../numpy-2.1.3-py3-none-any.whl", "a/b-1-py3-none-any.whl",
        "한글-1.0-py3-none-any.whl", "x-1-py3-none-any.whl\n", f"{'x' * 240}-1-py3-none-any.whl", "",
    ],
)  # fmt: skip
def test_what_is_no_wheel_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_wheel_name(name)
    assert (refused.value.field, refused.value.code) == ("wheels", "environment.wheel_name")
