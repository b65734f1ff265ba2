"""The alerts of all kinds are counted by one statement, each kind up to a thousand."""

from sqlalchemy import literal, select

from cluster.services.alerts.alert_counts import MAX_COUNTED, AlertCounts, AlertSource, capped_count
from cluster.services.context import Cluster
from cluster.store.users import User
from tests.builders import a_user, actor_of, an_administrator


def test_each_source_has_its_column_in_their_order(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    for _ in range(2):
        a_user(cluster)
    sources = [
        AlertSource(lambda: capped_count(select(User.id)), list),
        AlertSource(lambda: literal(False), list),
    ]
    counts = AlertCounts(lambda _cluster, _reader: sources)
    with cluster.store.read() as session:
        users, is_wrong = counts.execute(session.connection(), cluster, actor_of(chief)).one()
    assert (users, bool(is_wrong)) == (3, False)


def test_a_count_ends_behind_a_thousand(cluster: Cluster) -> None:
    with cluster.store.write() as session:
        session.add_all(User(name=f"user-{n}", created_at=cluster.clock()) for n in range(MAX_COUNTED + 5))
    with cluster.store.read() as session:
        assert session.scalar(select(capped_count(select(User.id)))) == MAX_COUNTED + 1
