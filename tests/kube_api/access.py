"""The rights that site.yml gives the scheduler, given to the user of the tests who has none of his own."""

import tempfile
from typing import Any

import yaml

from tests.kubernetes.api_server import SCHEDULER, ApiServer
from tests.unit.roles.rendering import ROOT, render

RULES = ROOT / "roles" / "kubernetes_addons" / "vars" / "access.yml"
BY_NAME = "system:serviceaccount:groundcrew:groundcrew-scheduler"


def objects() -> list[dict[str, Any]]:
    """As the role renders them."""
    rules = yaml.safe_load(RULES.read_text())["kubernetes_addons_rules"]
    # Beneath the second the tests have their storage.
    roots = ["/srv", tempfile.gettempdir()]
    known = {"kubernetes_addons_rules": rules, "kubernetes_addons_volume_roots": roots}
    return list(yaml.safe_load_all(render("kubernetes_addons", "access.yaml", **known)))


def give_access(server: ApiServer) -> None:
    for thing in objects():
        if thing["kind"] == "ClusterRoleBinding":
            thing["subjects"] = [{"kind": "User", "name": SCHEDULER, "apiGroup": "rbac.authorization.k8s.io"}]
        if thing["kind"] == "ValidatingAdmissionPolicy":
            (condition,) = thing["spec"]["matchConditions"]
            condition["expression"] = condition["expression"].replace(BY_NAME, SCHEDULER)
        server.api.apply(thing)
