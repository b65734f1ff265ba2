"""The goals, read out of the phases, and the table that is printed."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.hostile.phases import Phase

MIB = 1024 * 1024
MOST_RATIO = 3.0
SLOWEST_HEALTH = 0.25
MOST_HONEST = 0.01
"""Of the requests of one attack: what is refused for the time being, and says when to come again."""
PORTAL_PEAK, PORTAL_GROWTH = 320 * MIB, 192 * MIB
"""Above its beginning, when its threads had not all begun; the allocator keeps what they once had."""
TASKS_PEAK, TASKS_GROWTH = 256 * MIB, 32 * MIB
BETWEEN_REPEATS = 32 * MIB
"""As much more may the same attacks take when they come once more."""
ALL = "all together"
FRONT, TASKS = ("portal", "nginx"), ("task-workers",)


@dataclass(frozen=True)
class Goal:
    text: str
    value: str
    is_kept: bool


@dataclass(frozen=True)
class Run:
    """`before` and `after`: memory once people had worked for a while, and at the end; bytes by service."""

    phases: Sequence[Phase]
    before: dict[str, int]
    after: dict[str, int]

    @property
    def attacks(self) -> list[str]:
        return list(dict.fromkeys(phase.attack for phase in self.phases if phase.attack))

    def of(self, attack: str) -> list[Phase]:
        return [phase for phase in self.phases if phase.attack == attack]

    def calm_p99(self, number: int | None = None) -> float:
        """The median over the stretches without attackers, of all repeats or of one.

        So a stretch in which the product still mends itself after an attack lends nothing to the others.
        """
        phases = [phase for phase in self.of("") if number in (None, phase.number)]
        return statistics.median(p99(phase.seen.latencies) for phase in phases)

    def ratio(self, attack: str) -> float:
        """Others' p99 beside an attack over that without."""
        return p99(latencies(self.of(attack))) / self.calm_p99()

    def ratios(self, attack: str) -> list[float]:
        """The same for each repeat by itself."""
        return [p99(phase.seen.latencies) / self.calm_p99(phase.number) for phase in self.of(attack)]

    @property
    def repeats(self) -> int:
        return max((phase.number for phase in self.phases), default=0) + 1

    def peak(self, services: Iterable[str], number: int | None = None) -> int:
        """Bytes of the largest of these; of all repeats or of one."""
        phases = [phase for phase in self.phases if number in (None, phase.number)]
        return max((phase.peak.get(name, 0) for phase in phases for name in services), default=0)


def latencies(phases: Iterable[Phase]) -> list[float]:
    return [took for phase in phases for took in phase.seen.latencies]


def p99(samples: Sequence[float]) -> float:
    """Infinite where nobody was answered."""
    if not samples:
        return float("inf")
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * 0.99))]


def goals_of(run: Run) -> list[Goal]:
    goals = []
    for attack in run.attacks:
        ratio = run.ratio(attack)
        text = f"{attack}: others' p99 ≤ {MOST_RATIO:g} × without attackers"
        goals.append(Goal(text, f"{ratio:.2f} ×", ratio <= MOST_RATIO))
    for attack in run.attacks:
        slowest = max(took for phase in run.of(attack) for took in phase.seen.health)
        text = f"{attack}: /health ≤ {SLOWEST_HEALTH * 1000:.0f} ms at worst"
        goals.append(Goal(text, milliseconds(slowest), slowest <= SLOWEST_HEALTH))
    for attack in run.attacks:
        seen = [phase.seen for phase in run.of(attack)]
        errors, silent = sum(one.server_errors for one in seen), sum(one.no_answer for one in seen)
        given_up = sum(one.given_up for one in seen)
        value = f"{errors} errors, {silent} broken off, {given_up} given up"
        goals.append(Goal(f"{attack}: no 5xx but the honest 503", value, errors + silent + given_up == 0))
        honest, asked = sum(one.honest for one in seen), sum(one.asked for one in seen)
        text = f"{attack}: honest 503 ≤ {MOST_HONEST:.0%} of requests"
        goals.append(Goal(text, f"{honest} of {asked}", honest <= MOST_HONEST * asked))
    return goals + memory_goals(run)


def memory_goals(run: Run) -> list[Goal]:
    goals = []
    for label, names, peak, growth in (
        ("portal", [name for name in FRONT if name in run.before], PORTAL_PEAK, PORTAL_GROWTH),
        ("task workers", [name for name in TASKS if name in run.before], TASKS_PEAK, TASKS_GROWTH),
    ):
        before = max(run.before[name] for name in names)
        after = max(run.after.get(name, 0) for name in names)
        above = run.peak(names) - before
        goals.append(
            Goal(f"memory of {label}: ≤ {peak // MIB} MiB above its beginning", mib(above), above <= peak)
        )
        goals.append(
            Goal(
                f"memory of {label}: ≤ {growth // MIB} MiB more at the end",
                mib(after - before),
                after - before <= growth,
            )
        )
        if run.repeats > 1:
            more = run.peak(names, run.repeats - 1) - run.peak(names, 0)
            text = (
                f"memory of {label}: ≤ {BETWEEN_REPEATS // MIB} MiB more in the last repeat than in the first"
            )
            goals.append(Goal(text, mib(more), more <= BETWEEN_REPEATS))
    return goals


def table_of(run: Run) -> str:
    """A line per attack; of repeats the median and, in brackets, the lowest and the highest."""
    lines = [
        "| | requests | others' p50 | p99 | p99 ÷ without | /health at worst | 5xx | broken off | given up "
        "| honest 503 | portal, MiB | tasks, MiB | back after | attackers' processor |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        line_of(run, "", "nobody attacks"),
    ]
    lines += [line_of(run, attack, attack) for attack in run.attacks]
    return "\n".join(lines) + "\n"


def line_of(run: Run, attack: str, label: str) -> str:
    phases = run.of(attack)
    seen = [phase.seen for phase in phases]
    samples = latencies(phases)
    tasks = [name for name in TASKS if name in run.before]
    cells = [
        label,
        str(sum(one.asked for one in seen)),
        milliseconds(statistics.median(samples)) if samples else "none",
        milliseconds(p99(samples)) + (spread([p99(one.latencies) * 1000 for one in seen], ".0f")),
        (f"{run.ratio(attack):.2f}" + spread(run.ratios(attack), ".2f")) if attack else "",
        milliseconds(max(took for one in seen for took in one.health)),
        str(sum(one.server_errors for one in seen)),
        str(sum(one.no_answer for one in seen)),
        str(sum(one.given_up for one in seen)),
        str(sum(one.honest for one in seen)),
        f"{max(phase.peak.get(name, 0) for phase in phases for name in FRONT) / MIB:.0f}",
        f"{max(phase.peak.get(name, 0) for phase in phases for name in tasks) / MIB:.0f}",
        back_after(phases) if attack else "",
        f"{max(phase.attackers_share for phase in phases):.0%}" if attack else "",
    ]
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float], form: str) -> str:
    if len(values) < 2:
        return ""
    return f" [{min(values):{form}} … {statistics.median(values):{form}} … {max(values):{form}}]"


def back_after(phases: Sequence[Phase]) -> str:
    longest = max(phase.recovery for phase in phases)
    return f"{longest:.1f} s" + (", restarted" if any(phase.was_restarted for phase in phases) else "")


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"


def goal_lines(goals: Iterable[Goal]) -> str:
    return "".join(f"{'PASS' if goal.is_kept else 'FAIL'}  {goal.text}: {goal.value}\n" for goal in goals)
