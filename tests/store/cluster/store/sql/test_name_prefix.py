"""A beginning of a name is looked up in an index of the names."""

from sqlalchemy import select, text

from cluster.domain.search import parse_search_query
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from cluster.store.sql.name_prefix import name_begins_with


def test_names_that_begin_so_are_read_from_their_index(cluster: Cluster) -> None:
    query = select(Job.id).where(name_begins_with(Job.name, parse_search_query("le")))
    with cluster.store.read() as session:
        if not cluster.store.is_sqlite:
            session.execute(text("SET LOCAL enable_seqscan = off"))
        explain = "EXPLAIN QUERY PLAN " if cluster.store.is_sqlite else "EXPLAIN "
        compiled = query.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
        plan = " ".join(str(row) for row in session.execute(text(explain + str(compiled))))
    assert "ix_jobs_name" in plan
    assert ("SEARCH jobs" if cluster.store.is_sqlite else "Index Cond") in plan, "not all of the index"
