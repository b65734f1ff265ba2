"""What a repair calls is installed with it: the tree on servers has the named modules of ours and no others."""

import re

from tests.unit.roles.rendering import ROOT

ANSIBLE = ROOT / "ansible"


def test_every_module_of_ours_that_a_repair_calls_is_installed() -> None:
    own = {path.stem for path in (ANSIBLE / "plugins" / "modules").glob("*.py")}
    playbooks = [*(ANSIBLE / "playbooks" / "repair").glob("*.yml"), ANSIBLE / "playbooks" / "look.yml"]
    words = set(re.findall(r"^\s+(\w+):", "\n".join(each.read_text() for each in playbooks), re.MULTILINE))
    installed = set(
        re.findall(r"/plugins/modules/(\w+)[.]py", (ROOT / "roles/repairs/vars/main.yml").read_text())
    )
    assert own & words <= installed and "pods_multiply" in own & words
