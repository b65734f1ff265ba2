"""Sends requests that the OpenAPI description allows, and some that it does not, and lists the answers that differ
from it. schemathesis makes them.
"""

from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from cluster.portal_paths import API
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import OTHERS

LONGEST_SHOWN = 400


class Stage:
    """Whose rows the requests meet; one at a time in a process."""

    house: House | None = None


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(context: Any, case: Any, options: dict[str, Any]) -> None:
    """Each request meets the house as it was built; here, for requests are sent by a thread of their own."""
    if Stage.house is not None:
        Stage.house.restore()


@dataclass
class Answers:
    """`differences`: what an answer has that the description has not, with the request as a command of curl."""

    requests: int = 0
    differences: list[str] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)


def configure(examples: int, is_whole: bool, headers: dict[str, str]) -> SchemathesisConfig:
    """`is_whole`: also each boundary of each field.

    Two checks are left out: a body that fits may be refused, because a name is taken; who may send what is walked by
    test_route_permissions.py.
    """
    return SchemathesisConfig.from_dict(
        {
            "headers": headers,
            "seed": 24,
            "continue-on-failure": True,
            "checks": {name: {"enabled": False} for name in ("positive_data_acceptance", "ignored_auth")},
            "generation": {
                "max-examples": examples,
                "deterministic": True,
                "no-shrink": True,
                "database": "none",
                "with-security-parameters": False,
            },
            "phases": {"stateful": {"enabled": False}, "coverage": {"enabled": is_whole}},
        }
    )


def send_described_requests(house: House, kind: str, examples: int, is_whole: bool = False) -> Answers:
    """As this kind of person, by their token."""
    headers = {} if kind == "anonymous" else {"Authorization": f"Bearer {house.tokens[kind]}"}
    config = configure(examples, is_whole, headers)
    schema = schemathesis.openapi.from_wsgi(f"{API}/openapi.json", house.app, config=config)
    known = {**house.ids, **OTHERS}

    @schema.hook  # type: ignore[untyped-decorator]
    def before_generate_path_parameters(context: Any, strategy: Any) -> Any:
        """Half of them name what is there."""
        return st.one_of(strategy, strategy.map(lambda names: name_known(names, known)))

    @schema.hook  # type: ignore[untyped-decorator]
    def before_generate_body(context: Any, strategy: Any) -> Any:
        return st.one_of(strategy, strategy.map(lambda body: name_known(body, known)))

    answers = Answers()
    Stage.house = house
    for event in from_schema(schema).execute():
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            answers.differences.append(f"{event.label}: {event.value}")
        elif isinstance(event, events.ScenarioFinished):
            add_answers(answers, event)
    return answers


def name_known(values: Any, known: dict[str, Any]) -> Any:
    """The values with ids of the house's own things under their names."""
    if not isinstance(values, dict):
        return values
    return {name: known.get(name, value) for name, value in values.items()}


def add_answers(answers: Answers, event: events.ScenarioFinished) -> None:
    for interaction in event.recorder.interactions.values():
        answers.requests += 1
        if interaction.response is not None:
            status = interaction.response.status_code
            answers.statuses[status] = answers.statuses.get(status, 0) + 1
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info is not None:
                failure = check.failure_info
                words = f"{event.label}: {failure.failure.title}: {failure.failure.message}"
                answers.differences.append(f"{words}\n{failure.code_sample[:LONGEST_SHOWN]}")
