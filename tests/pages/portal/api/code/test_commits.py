"""The commit of a version as REST returns it."""

from cluster.store.trainings import CodeVersion
from portal.api.code.commits import describe_commit


def test_a_version_without_git_has_no_commit() -> None:
    assert describe_commit(None) is None
    assert describe_commit(CodeVersion(number=1)) is None
    version = CodeVersion(number=1, commit_id="c", commit_author="Min", commit_subject="Fix")
    assert describe_commit(version) == {"id": "c", "author": "Min", "subject": "Fix"}
