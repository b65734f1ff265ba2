"""Only what the wanted parts need is built."""

from worker.bundle import __main__ as command
from worker.bundle.build import CONTAINER_ENGINE, choose_programs
from worker.bundle.go_programs import PROGRAMS
from worker.bundle.sources import read_bundle_sources


def test_only_what_goes_into_the_wanted_parts_is_compiled() -> None:
    sources = read_bundle_sources()
    names = {part: {each.name for each in choose_programs([part], sources)} for part in command.BUNDLE_PARTS}
    assert names["wheels"] == names["default-image"] == set()
    assert names["manifests"] == {"kubectl"}
    assert names["packages"] == {"kubeadm", "kubelet", "kubectl", "flannel", *CONTAINER_ENGINE}
    assert names["images"] == {each.name for each in PROGRAMS} - CONTAINER_ENGINE
