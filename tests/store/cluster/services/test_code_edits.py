"""An edit is a version of its own; a version of somebody else that changed the same file is not lost under it."""

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.states import CodeSource, TrainingKind
from cluster.services import code_edits, code_versions, trainings
from cluster.services.context import Cluster
from cluster.store.trainings import CodeVersion, Training
from tests.builders import a_code_version, a_training, a_user, a_workspace, actor_of

FILES = [("train.py", b"one = 1\r\ntwo = 2\r\n"), ("net.py", b"x = 1\n"), ("logo.png", b"\x89PNG\0")]


class Case:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.owner, self.member = cluster, a_user(cluster), a_user(cluster)
        workspace = a_workspace(cluster, self.owner, members=(self.member,))
        self.training: Training = a_training(cluster, workspace, self.owner, kind=TrainingKind.ADVANCED)
        a_code_version(cluster, self.training, FILES)

    def save(self, text: str, path: str = "train.py", base: int = 1) -> CodeVersion:
        return code_edits.save_file(self.cluster, actor_of(self.owner), self.training.id, path, text, base)

    def upload(self, *files: tuple[str, bytes]) -> None:
        trainings.upload_code(self.cluster, actor_of(self.owner), self.training.id, files)

    def content(self, number: int, path: str) -> bytes:
        return code_versions.read_code_content(self.cluster.settings, self.training, number, path)


@pytest.fixture
def case(cluster: Cluster) -> Case:
    return Case(cluster)


def test_an_edit_keeps_line_ends_and_all_other_files(case: Case) -> None:
    made = case.save("one = 1\r\ntwo = 3\r\n\r\n")
    assert (made.number, made.source, made.base) == (2, CodeSource.EDITOR, 1)
    assert case.content(2, "train.py") == b"one = 1\r\ntwo = 3\r\n\r\n"
    assert case.content(2, "net.py") == b"x = 1\n" and case.content(1, "train.py") == FILES[0][1]
    case.save("x = 2\r\n", "net.py", 2)
    assert case.content(3, "net.py") == b"x = 2\n"


def test_a_version_that_came_meanwhile_is_kept(case: Case) -> None:
    case.upload(("net.py", b"x = 5\n"))
    assert case.save("one = 9\n").number == 3
    assert case.content(3, "net.py") == b"x = 5\n"
    with pytest.raises(Conflict) as conflict:
        case.save("one = 10\n")
    assert conflict.value.code == "code.file_changed_since"
    assert (conflict.value.data["base"], conflict.value.data["newest"]) == (1, 3)
    assert case.save("one = 10\n", base=3).number == 4


def test_what_cannot_be_saved(case: Case) -> None:
    for text, code in (
        ("one = 1\ntwo = 2\n", "code.nothing_changed"),
        ("a\0b", "value.control_character"),
        ("\ud800", "code.not_utf8"),
        ("x" * 300_000, "code.too_large_to_edit"),
    ):
        with pytest.raises(Refused) as refused:
            case.save(text)
        assert (refused.value.field, refused.value.code) == ("text", code)
    with pytest.raises(NotFound):
        case.save("1", "../../etc/passwd")
    with pytest.raises(Forbidden):
        code_edits.save_file(case.cluster, actor_of(case.member), case.training.id, "train.py", "1", 1)


def test_a_file_that_is_no_text_is_not_edited(case: Case) -> None:
    with pytest.raises(Refused) as refused:
        code_edits.read_editable_file(case.cluster, case.training, 1, "logo.png")
    assert refused.value.code == "code.not_editable"
    assert code_edits.read_editable_file(case.cluster, case.training, 1, "train.py").text == (
        "one = 1\ntwo = 2\n"
    )
    assert code_edits.can_edit_text("a.py", b"1") and not code_edits.can_edit_text("a.py", b"a\rb\r\n")
