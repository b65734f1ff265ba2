"""The attackers' own process: `python -m tests.bench.hostile.attackers heads bodies`.

Its first line of standard input is the target as JSON. It says `ready` once the attack is under way, goes on until
its standard input ends, and writes down what it did and what it used. It never outlives LIMIT.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter

from tests.bench.hostile.attacks import ATTACKS, Context
from tests.bench.hostile.installation import Target

LIMIT = 300
RAMP = 4.0
"""Seconds in which every connection has been opened once; nothing is measured meanwhile."""
NICE = 10


async def attack(names: list[str], target: Target) -> dict[str, dict[str, int]]:
    tallies: dict[str, Counter[str]] = {name: Counter() for name in names}
    tasks = [asyncio.ensure_future(ATTACKS[name].run(Context(target, tallies[name]))) for name in names]
    await asyncio.sleep(RAMP)
    print("ready", flush=True)
    over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    done, _ = await asyncio.wait([*tasks, over], return_when=asyncio.FIRST_COMPLETED)
    for each in done:
        each.result()  # An attack ends by an error alone.
    return {name: dict(tally) for name, tally in tallies.items()}


def main(names: list[str]) -> None:
    signal.alarm(LIMIT)
    os.nice(NICE)
    target = Target.from_json(json.loads(sys.stdin.readline()))
    begun = time.monotonic()
    tallies = asyncio.new_event_loop().run_until_complete(attack(names, target))
    used = {"cpu_seconds": time.process_time(), "seconds": time.monotonic() - begun}
    print(json.dumps({"tallies": tallies, **used}), flush=True)
    os._exit(0)  # All connections end with the process, and nothing waits for one of hundreds to be polite.


if __name__ == "__main__":
    main(sys.argv[1:])
