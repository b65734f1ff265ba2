"""A task ends with a reason in its row, or leaves the row for the next worker."""

from typing import cast

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from cluster.services.context import Cluster
from cluster.store.operations import Operation
from worker.environments.errors import BuildFailed
from worker.tasks.run import run_body


def ended_by(error: Exception) -> object:
    def body(cluster: Cluster, operation: Operation) -> None:
        raise error

    return run_body(body, cast(Cluster, None), cast(Operation, None))


@pytest.mark.parametrize("gone", [psycopg.OperationalError("refused"), psycopg.errors.AdminShutdown("stop")])
def test_a_database_server_that_went_away_leaves_the_row_to_be_taken_up_again(gone: Exception) -> None:
    assert ended_by(OperationalError("SELECT 1", None, gone)) is None


def test_any_other_error_of_the_database_is_the_operations_end() -> None:
    found = ended_by(OperationalError("SELECT 1", None, ValueError("database or disk is full")))
    assert found is not None


def test_a_name_that_is_no_text_becomes_one_that_rows_and_pages_can_have() -> None:
    found = ended_by(BuildFailed("environment.strange_file", path="caf\udce9/\ud55c", log="/log"))
    assert found == ("environment.strange_file", {"path": "caf?/\ud55c", "log": "/log"})
