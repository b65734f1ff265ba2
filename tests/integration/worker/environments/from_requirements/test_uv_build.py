"""What uv cannot resolve or install is named by its line."""

import pytest

from tests.integration.worker.environments.from_requirements.build_lab import Lab
from tests.integration.worker.environments.from_requirements.package_folder import add_wheel


@pytest.mark.parametrize(
    ("requirements", "code", "line"),
    [
        ("upper\nno-such-thing==1\n", "environment.package_missing", 2),
        ("upper==9\n", "environment.version_missing", 1),
        ("upper==2.0\nlower<1\n", "environment.no_solution", None),
        (f"lower --hash=sha256:{'0' * 64}\n", "environment.hash_differs", 1),
        ("upper\n-e /root\n", "environment.line_editable", 2),
    ],
)
def test_what_cannot_be_resolved_names_its_line(
    lab: Lab, requirements: str, code: str, line: int | None
) -> None:
    refusal = lab.refusal(requirements)
    assert (refusal.code, refusal.data.get("line")) == (code, line)


def test_a_damaged_wheel_is_refused(lab: Lab) -> None:
    pins = lab.build("lower\n").pins
    add_wheel(lab.packages, "lower", "1.5", other="OTHER = 1\n")
    refusal = lab.refusal("lower\n", pins=pins)
    assert refusal.code in ("environment.package_refused", "environment.step_failed"), refusal
