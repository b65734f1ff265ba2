"""What etcdctl says is read field by field."""

from worker.backups.etcd_restore import parse_etcdctl_fields


def test_fields_are_read_by_their_names() -> None:
    text = '"ClusterID" : 14841639068965178418\n"Revision" : 42\n"More" : false\n"Count" : 7\n'
    fields = parse_etcdctl_fields(text)
    assert (fields["Revision"], fields["Count"]) == (42, 7)
    assert parse_etcdctl_fields("no field at all") == {}
