"""The digest of a preview changes with whatever a person's decision depends on."""

from dataclasses import replace
from pathlib import Path

from cluster.services.context import Cluster
from cluster.services.repairs.previews import preview_repair
from cluster.services.repairs.reclaimable_path import ReclaimablePath
from cluster.services.repairs.repair_preview import RepairPreview
from tests.builders import a_repair_run, actor_of, an_administrator


def test_the_digest_covers_what_is_shown_and_not_when_it_was_read(cluster: Cluster) -> None:
    administrator = an_administrator(cluster)
    shown = preview_repair(cluster, actor_of(administrator), "back-up-now")
    assert isinstance(shown, RepairPreview)
    changes = {
        "digest": "another",
        "targets": [replace(shown.targets[0], host="elsewhere")],
        "leftovers": [ReclaimablePath(Path("/somewhere"), 1, "leftover.log")],
        "under_way": a_repair_run(cluster, administrator),
        "busy": ["gpu01"],
    }
    digests = {replace(shown, **{name: value}).etag for name, value in changes.items()}
    assert len(digests | {shown.etag}) == len(changes) + 1
    assert replace(shown, seconds=1.0, read_at=shown.read_at.replace(year=2000)).etag == shown.etag
