"""Problems lead to the repairs that help."""

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_repairs import on_servers


def test_a_node_that_does_not_report_leads_to_its_repairs_the_gentlest_first(lab: Lab) -> None:
    on_servers(lab)
    lab.cluster.clock.move(minutes=1)  # type: ignore[attr-defined]
    chief, member = lab.browser(lab.administrator), lab.browser(lab.minjun)
    page = chief.get("/nodes").text
    places = [page.index(f"/repairs/{name}?nodes=2") for name in ("restart-worker-agent", "reconnect-node")]
    assert places == sorted(places) and "/repairs/reboot-node?nodes=2" in page
    assert "/repairs/" not in member.get("/nodes").text
