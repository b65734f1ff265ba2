"""What a workspace will store: archives on their way by their announced size, and archives that wait by their own."""

from cluster.services.context import Cluster
from cluster.services.storage import expected_uploads, folders
from tests.builders import a_dataset, a_workspace


def test_uploads_on_their_way_and_waiting_archives_are_counted_for_their_workspace(
    light_cluster: Cluster,
) -> None:
    mine, other = a_workspace(light_cluster), a_workspace(light_cluster)
    waiting, foreign = a_dataset(light_cluster, mine), a_dataset(light_cluster, other)
    names = {
        expected_uploads.upload_name(mine.id, 1000, "ab"): 3,
        expected_uploads.upload_name(other.id, 50_000, "ab"): 3,
        f"dataset-{waiting.id}": 7,
        f"dataset-{foreign.id}": 70_000,
        "dataset-999999": 700_000,
        "upload-1": 5,
        "code-1-1": 5,
    }
    for name, size in names.items():
        (folders.incoming_folder(light_cluster.settings) / name).write_bytes(b"x" * size)
    assert expected_uploads.count_expected_bytes(light_cluster, mine.id) == 1007
    assert expected_uploads.count_expected_bytes(light_cluster, other.id) == 120_000
