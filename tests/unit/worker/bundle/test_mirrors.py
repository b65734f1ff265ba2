"""A mirror is named as images name their registry."""

from worker.bundle import __main__ as command
from worker.bundle.mirrors import MirrorClient
from worker.oci.skopeo import parse_reference


def test_a_mirror_is_named_as_images_name_their_registry() -> None:
    chosen = command.make_parser().parse_args(
        ["download", "/b", "--instead", "docker.io=https://m/d", "ghcr.io=https://m/g"]
    )
    fetcher = MirrorClient(dict(chosen.instead))
    asked = parse_reference("docker.io/mpioperator/mpi-operator:0.7.0")
    assert fetcher.mirrored_url(f"https://{asked.host}/v2/") == "https://m/d/v2/"
    assert fetcher.mirrored_url("https://ghcr.io/v2/") == "https://m/g/v2/"
