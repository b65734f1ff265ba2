"""Promises across files: whatever the code can say, both languages can."""

import re
import string
from enum import StrEnum
from pathlib import Path

import pytest

from cluster import words
from cluster.domain import states
from cluster.domain.jobs import exits
from cluster.domain.jobs.failures import failure_symptoms
from cluster.domain.people import permissions
from cluster.domain.people.permissions import ALLOWED_RELATIONS, Relation
from cluster.domain.queue.reasons import REASONS
from cluster.domain.repairs.definition import RepairGroup
from cluster.domain.repairs.run_matrix import HostTaskState, RepairVerdict
from cluster.words import sentences
from cluster.words.english import FEATURES, HINTS, SENTENCES, TITLES, WORDS
from cluster.words.sentences import VARIANTS
from cluster.words.translations import read_messages
from tests.unit.cluster.words.code_scanner import Found, found_codes, said_in_templates, whole_source
from worker.environments.build_steps import BuildStep

FOUND = found_codes() + said_in_templates()
FOLDER = Path(words.__file__).parent
NAMES = {"Horovod", "torchrun", "GPU", "“{character}” ({codepoint})"}
"""What is the same in both languages: names of things."""

NOT_SHOWN = {
    *states.OperationKind,
    *ALLOWED_RELATIONS,
    *(f"environment.{what}" for what in ("added", "changed", "rebuilt", "build_cancelled", "deleted")),
    *(
        f"environment.{what}"
        for what in ("requested", "approved", "declined", "wheels_added", "wheel_deleted")
    ),
}
"""Dotted words that look like codes and are none: kinds of operations, permissions, and audit actions, which have words
of their own.
"""

GROUPS: dict[str, type[StrEnum]] = {
    "state.job": states.JobState,
    "state.attempt": states.AttemptState,
    "state.dataset": states.DatasetState,
    "state.node": states.NodeState,
    "state.unit": states.UnitState,
    "state.operation": states.OperationState,
    "state.environment": states.EnvironmentState,
    "state.workspace": states.WorkspaceState,
    "state.user": states.UserState,
    "state.host_task": HostTaskState,
    "verdict": RepairVerdict,
    "repair.group": RepairGroup,
    "role": states.UserRole,
    "desired": states.DesiredState,
    "kind.unit": states.UnitKind,
    "kind.dataset": states.DatasetKind,
    "kind.training": states.TrainingKind,
    "visibility": states.Visibility,
    "launcher": states.Launcher,
    "operation": states.OperationKind,
    "queue": states.TaskQueue,
    "relation": Relation,
    "step": BuildStep,
}


def has_words(found: Found) -> bool:
    if found.group == "sentence":
        return found.code in SENTENCES or found.code in NOT_SHOWN
    if found.group == "group":
        return any(code.startswith(found.code + ".") for code in WORDS)
    if found.group == "title":
        return found.code.split(".")[0] in TITLES
    return f"{found.group}.{found.code}" in WORDS


def test_the_scan_finds_what_is_there() -> None:
    codes = {found.code for found in FOUND}
    assert {"name.reserved", "sign_in.wrong", "not_found.job", "job.submitted", "exit.lost"} <= codes
    assert {found.group for found in FOUND} >= {"sentence", "action"}
    assert {"kubernetes.closed", "kubernetes.resource"} <= codes, "what pages say of themselves"
    assert {"repair.under_way", "audit.kind"} <= {found.code for found in said_in_templates()}


def test_every_code_that_somebody_raises_or_writes_has_words() -> None:
    missing = sorted(
        {f"{found.group} {found.code} ({found.place})" for found in FOUND if not has_words(found)}
    )
    assert not missing, "\n".join(missing)


def test_every_sentence_gets_the_data_that_it_speaks_of() -> None:
    lacking = sorted(
        f"{found.code} ({found.place}) lacks {', '.join(sorted(fields(SENTENCES[found.code]) - found.data))}"
        for found in FOUND
        if found.group == "sentence" and found.code in SENTENCES and found.data is not None
        and not fields(SENTENCES[found.code]) <= found.data
    )  # fmt: skip
    assert not lacking, "\n".join(lacking)


FAILURES = [symptom.code for symptom in failure_symptoms.SYMPTOMS]


@pytest.mark.parametrize(
    "code", [*REASONS, *exits.CODE_OF_EXIT.values(), *exits.CODE_OF_SIGNAL.values(), *FAILURES]
)
def test_every_reason_and_every_end_has_a_sentence(code: str) -> None:
    assert code in SENTENCES


@pytest.mark.parametrize("action", sorted(ALLOWED_RELATIONS))
def test_every_refused_permission_has_a_sentence(action: str) -> None:
    everybody = set(Relation) - {Relation.STRANGER}
    assert f"forbidden.{action}" in SENTENCES or set(ALLOWED_RELATIONS[action]) == everybody
    kind = action.split(".")[0]
    assert f"not_found.{kind}" in SENTENCES or f"{kind}.see" not in ALLOWED_RELATIONS
    assert not permissions.is_allowed(action, Relation.STRANGER)


@pytest.mark.parametrize("group", GROUPS)
def test_every_value_of_an_enumeration_has_a_word(group: str) -> None:
    missing = [value for value in GROUPS[group] if f"{group}.{value}" not in WORDS]
    assert not missing


def test_every_sentence_belongs_to_a_family_with_a_title() -> None:
    families = {code.split(".")[0] for code in SENTENCES} - {"phrase"}
    assert families <= set(TITLES), families - set(TITLES)


MADE = ("not_found.", "forbidden.", "http.", "phrase.", "password.needs_")
"""Codes that the source puts together from parts."""


def test_no_sentence_is_left_over() -> None:
    source = whole_source()
    variants = {code + suffix for code, many in VARIANTS.items() for _, suffix, _ in many}
    variants.add("waiting.not_enough_units.one_node")
    whole = [code for code in SENTENCES if not code.startswith(MADE) and code not in variants]
    left = [code for code in whole if f'"{code}"' not in source]
    left += [code for code in WORDS if code.startswith("action.") and f'"{code[7:]}"' not in source]
    assert not left, "\n".join(left)


def test_every_variant_has_its_sentence() -> None:
    for code, variants in VARIANTS.items():
        assert code in SENTENCES
        assert all(code + suffix in SENTENCES for _, suffix, _ in variants)


def test_no_code_stands_in_two_features() -> None:
    for table in ("SENTENCES", "HINTS", "TITLES", "WORDS"):
        codes = [code for feature in FEATURES for code in getattr(feature, table, {})]
        assert len(codes) == len(set(codes))


ENGLISH = {
    **SENTENCES,
    **{f"hint.{code}": text for code, text in HINTS.items()},
    **{f"title.{code}": text for code, text in TITLES.items()},
    **WORDS,
}


def test_everything_is_said_in_korean_too() -> None:
    korean = sentences.korean_translations()
    missing = [
        f"{code}: {english}"
        for code, english in ENGLISH.items()
        if korean.gettext(english) == english and english not in NAMES
    ]
    assert not missing, "\n".join(missing)


def test_no_translation_is_left_over_and_none_stands_in_two_files() -> None:
    seen: dict[str, str] = {}
    for path, message in read_messages(FOLDER, "ko"):
        assert message.id in ENGLISH.values(), f"{path.name}: nobody says {message.id!r}"
        assert message.context is None, f"{path.name}: {message.id!r} is looked up without a context"
        assert message.id not in seen, f"{message.id!r} stands in {seen[message.id]} and {path.name}"
        seen[message.id] = path.name


MAY_BE_LEFT_OUT = {"called", "length", "count", "node"}
"""Data that a Korean sentence may do without: the English name of a character, a number said by its noun."""


@pytest.mark.parametrize("code", ENGLISH)
def test_both_languages_speak_of_the_same_things(code: str) -> None:
    english = ENGLISH[code]
    korean = sentences.korean_translations().gettext(english)
    assert fields(korean) <= fields(english)
    assert fields(english) - fields(korean) <= MAY_BE_LEFT_OUT


@pytest.mark.parametrize("code", ENGLISH)
def test_korean_is_formal_and_guesses_no_particle(code: str) -> None:
    """을/를, 이/가, 은/는 and (으)로 behind a variable come from the sound of its value, or not at all."""
    korean = sentences.korean_translations().gettext(ENGLISH[code])
    assert not re.search(r"\}[”)]?(을|를|이|가|은|는|으로|로)(?![가-힣])", korean), korean
    assert not re.search(r"(해요|어요|아요|한다|이다|된다|있다|없다|했다|됐다)([.!?]|$)", korean), korean


def test_no_table_speaks_of_gpus_where_there_may_be_none() -> None:
    """Kubernetes' own resource of that name is one wherever it stands; some are said of real GPUs alone."""
    may = {"kind.unit.gpu", "kubernetes.resource.nvidia.com/gpu", "job.gpus_by_image", "job.gpus_assumed"}
    refusals = {"job.no_gpu_environment", "waiting.no_gpu_environment"}
    may |= refusals | {f"{code}.image" for code in refusals}
    may |= {"start.no_gpu_environment", "label.waiting.no_gpu_environment"}
    of_gpus = {"gpu_memory_full", "gpu_assert", "gpu_too_new", "no_gpu"}
    may |= {f"failure.{name}" for name in of_gpus} | {"hint.failure.no_gpu"}
    may |= {code for code in ENGLISH if "gpu_check" in code} - {"hint.gpu_check.no_environment"}
    assert {code for code, text in ENGLISH.items() if "GPU" in text} == may


def fields(template: str) -> set[str]:
    """The data that a sentence needs; a count of units needs their kind beside it."""
    needed: set[str] = set()
    for _, name, spec, _ in string.Formatter().parse(template):
        if not name:
            continue
        form = (spec or "").split("/")[0]
        if form in ("seen", "offer"):
            continue  # They look for what there is.
        needed.add(name)
        if form == "units":
            needed.add("kind")
    return needed
