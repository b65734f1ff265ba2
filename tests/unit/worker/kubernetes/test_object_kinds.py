"""Each kind of object has its version and its paths in the API."""

import pytest

from worker.kubernetes.object_kinds import KINDS, object_head


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "path"),
    [
        ("Pod", "", "", "/api/v1/pods"),
        ("Pod", "team", "", "/api/v1/namespaces/team/pods"),
        ("Pod", "team", "a/b", "/api/v1/namespaces/team/pods/a%2Fb"),
        ("Job", "team", "one", "/apis/batch/v1/namespaces/team/jobs/one"),
        ("Node", "", "gpu01", "/api/v1/nodes/gpu01"),
        ("Node", "team", "gpu01", "/api/v1/nodes/gpu01"),
        ("ClusterQueue", "", "", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"),
    ],
)
def test_a_path_names_group_namespace_and_object(kind: str, namespace: str, name: str, path: str) -> None:
    assert KINDS[kind].path(namespace, name) == path


@pytest.mark.parametrize("namespace", ["", "team"])
def test_an_object_begins_with_version_kind_and_metadata(namespace: str) -> None:
    metadata = {"name": "one", "labels": {"a": "b"}} | ({"namespace": namespace} if namespace else {})
    assert object_head("Job", "one", namespace, {"a": "b"}) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
    }
