"""Uploaded wheels are moved into their folder, all of them or none."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.files import zip_tables
from cluster.services.context import Cluster
from cluster.services.images.wheels import add_wheels, delete_wheel, list_wheels
from cluster.store.audit import AuditEntry
from tests.builders import a_user, actor_of, an_administrator

LOWER, UPPER = "lower-1.5-py3-none-any.whl", "upper-2.0-py3-none-any.whl"
Arrive = Callable[..., Path]


@pytest.fixture
def admin(cluster: Cluster) -> Actor:
    return actor_of(an_administrator(cluster))


@pytest.fixture
def arrive(cluster: Cluster) -> Arrive:
    """Writes a file on the disk of the storage, as an upload leaves it."""
    folder = cluster.settings.storage_dir / "incoming"
    folder.mkdir(parents=True)

    def write(member: str = "lower-1.5.dist-info/METADATA") -> Path:
        file = folder / f"wheel-{len(list(folder.iterdir()))}"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(member, "Name: lower")
        return file

    return write


def names(cluster: Cluster, actor: Actor) -> list[str]:
    return [wheel.file for wheel in list_wheels(cluster, actor)]


def test_they_are_listed_by_their_package_and_stay_until_deleted(
    cluster: Cluster, admin: Actor, arrive: Arrive
) -> None:
    assert list_wheels(cluster, admin) == []
    add_wheels(cluster, admin, [(UPPER, arrive()), (LOWER, arrive())])
    (cluster.settings.storage_dir / "wheels" / "notes.txt").write_text("no wheel")
    assert [(wheel.name.package, wheel.name.version) for wheel in list_wheels(cluster, admin)] == [
        ("lower", "1.5"),
        ("upper", "2.0"),
    ]
    delete_wheel(cluster, admin, UPPER)
    for lost in (UPPER, "notes.txt", "../incoming"):
        with pytest.raises(NotFound):
            delete_wheel(cluster, admin, lost)
    assert names(cluster, admin) == [LOWER]
    with cluster.store.read() as session:
        actions = session.scalars(select(AuditEntry.action).where(AuditEntry.action.like("environment.%")))
        assert actions.all() == ["environment.wheels_added", "environment.wheel_deleted"]


@pytest.mark.parametrize(
    ("name", "member", "code"),
    [
        ("../lower-1.5-py3-none-any.whl", "lower-1.5.dist-info/METADATA", "environment.wheel_name"),
        (LOWER, "lower/__init__.py", "environment.wheel_unreadable"),
    ],
)
def test_a_bad_one_keeps_the_others_out(
    cluster: Cluster, admin: Actor, arrive: Arrive, name: str, member: str, code: str
) -> None:
    with pytest.raises(Refused) as refused:
        add_wheels(cluster, admin, [(UPPER, arrive()), (name, arrive(member))])
    assert (refused.value.field, refused.value.code) == ("wheels", code)
    assert names(cluster, admin) == []


def test_only_administrators_see_and_change_them(cluster: Cluster, admin: Actor, arrive: Arrive) -> None:
    add_wheels(cluster, admin, [(LOWER, arrive())])
    other = actor_of(a_user(cluster))
    with pytest.raises(Forbidden):
        list_wheels(cluster, other)
    with pytest.raises(Forbidden):
        add_wheels(cluster, other, [(UPPER, arrive())])
    with pytest.raises(Forbidden):
        delete_wheel(cluster, other, LOWER)
    assert names(cluster, admin) == [LOWER]


def test_a_table_of_too_many_entries_is_refused_before_it_is_read(
    cluster: Cluster, admin: Actor, arrive: Arrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """zipfile would keep an object for each entry in the portal's memory."""
    monkeypatch.setattr(zip_tables, "ZIP_ENTRIES", 0)
    with pytest.raises(Refused, match=r"environment\.wheel_unreadable"):
        add_wheels(cluster, admin, [(LOWER, arrive())])
    assert names(cluster, admin) == []
