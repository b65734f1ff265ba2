"""One stretch of the run: people alone, or people and an attack beside them; and how the product came out of it."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from tests.bench.hostile.installation import Site, answers_soon
from tests.bench.hostile.memory import peak_of, resident
from tests.bench.hostile.normal_users import Seen, watch

RECOVERY = 60.0
"""Seconds that the product has to answer as before; then its portal is restarted and the table says so."""
SOON = 0.25
CALM_ANSWERS = 5
READY_SECONDS = 30.0
WARM_UP = 1.5


@dataclass
class Phase:
    """`attack` empty: nobody attacks. Memory in bytes by service."""

    attack: str
    number: int
    seen: Seen
    peak: dict[str, int]
    recovery: float = 0.0
    was_restarted: bool = False
    attackers: dict[str, Any] = field(default_factory=dict)

    @property
    def attackers_share(self) -> float:
        """Of one core, that the attackers' process used itself."""
        return self.attackers["cpu_seconds"] / self.attackers["seconds"] if self.attackers else 0.0


def calm(site: Site, number: int, seconds: float) -> Phase:
    seen, peak = asyncio.run(observe(site, seconds))
    return Phase("", number, seen, peak)


async def observe(site: Site, seconds: float) -> tuple[Seen, dict[str, int]]:
    peak: dict[str, int] = {}
    sampler = asyncio.ensure_future(peak_of(site.service_pids(), peak))
    try:
        return await watch(site, seconds), peak
    finally:
        sampler.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sampler


def attacked(site: Site, name: str, names: list[str], number: int, seconds: float) -> Phase:
    """Ends once the attackers are gone and the product answers as before."""
    attackers = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.hostile.attackers", *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert attackers.stdin is not None and attackers.stdout is not None
        attackers.stdin.write(json.dumps(site.target.as_json()) + "\n")
        attackers.stdin.flush()
        if attackers.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the attackers did not begin: {name}")
        seen, peak = asyncio.run(observe(site, seconds))
        said, _ = attackers.communicate(timeout=READY_SECONDS)  # Its standard input ends.
    finally:
        attackers.kill()
        attackers.wait()
    phase = Phase(name, number, seen, peak, attackers=json.loads(said))
    phase.recovery, phase.was_restarted = recover(site, peak)
    asyncio.run(watch(site, WARM_UP))  # Of a portal that began anew the first pages are slower.
    return phase


def recover(site: Site, peak: dict[str, int]) -> tuple[float, bool]:
    """Waits until /health answers soon, several times, and no upload is worked on; memory is noted meanwhile."""
    begun, calm_answers, pids = time.monotonic(), 0, site.service_pids()
    while time.monotonic() - begun < RECOVERY:
        for service, size in resident(pids).items():
            peak[service] = max(peak.get(service, 0), size)
        calm_answers = calm_answers + 1 if answers_soon(site, SOON) else 0
        if calm_answers >= CALM_ANSWERS and not site.has_operations():
            return time.monotonic() - begun, False
        time.sleep(0.2)
    if calm_answers < CALM_ANSWERS:
        site.restart_portal()
        return RECOVERY, True
    return RECOVERY, False
