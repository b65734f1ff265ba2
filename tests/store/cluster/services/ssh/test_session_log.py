"""Each session is in the access log: who, which key, from where, how long, and why it ended."""

from cluster.domain.ssh_logins import SshSessionKind
from cluster.services.context import Cluster
from cluster.services.people import ssh_keys
from cluster.services.ssh.session_log import record_session_end, record_session_start
from tests.audit_entries import entries
from tests.builders import actor_of
from tests.store.cluster.services.ssh.test_job_access import Case


def test_a_session_has_a_beginning_and_an_end(cluster: Cluster) -> None:
    case = Case(cluster)
    entry = case.entry()
    assert entry is not None
    record_session_start(cluster, entry, "192.0.2.7", SshSessionKind.SFTP)
    record_session_end(cluster, entry, "192.0.2.7", SshSessionKind.SFTP, 61.26, "left")
    entered, left = entries(cluster)[-2:]
    for found in (entered, left):
        assert (found.actor_name, found.address) == (case.user.name, "192.0.2.7")
        assert (found.object_kind, found.object_id) == ("job", case.job.id)
        assert found.data["key"] == "laptop" and found.data["fingerprint"] == case.key.fingerprint
    assert (entered.action, left.action) == ("ssh.entered", "ssh.left")
    assert (left.data["seconds"], left.data["cause"]) == (61.3, "left")
    (key,) = ssh_keys.list_ssh_keys(cluster, actor_of(case.user))
    assert key.used_at == cluster.clock()
