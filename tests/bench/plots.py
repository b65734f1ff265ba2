"""Draws what was measured: ``python plots.py queue.json folder`` prints the names of the files it wrote.

Runs in the environment of requirements/bench.txt, which has matplotlib; it imports nothing of ours.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {
    "Groundcrew, PostgreSQL": "#0b6e4f",
    "Groundcrew, SQLite": "#6fb98f",
    "Slurm, tuned": "#b4462a",
    "Slurm, tuned, srun": "#e08e6d",
    "Slurm, as it comes": "#7a2e1d",
    "HyperQueue": "#3b5b92",
    "RQ alone": "#8a8f98",
}
GOALS = {"P3": 0.1, "P4": 0.2, "Q": 0.1}


def samples_of(series):
    return sorted(sample for repeat in series["repeats"] for sample in repeat)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def number_of(case):
    """The depth in `one decision, 10,000 queued`."""
    words = case.removesuffix(" queued").split()
    return int(words[-1].replace(",", ""))


def beside(axes):
    """The legend, where it hides nothing."""
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


def shares(axes, series, goal):
    """One line per series: the share of samples that took at most so long."""
    for each in series:
        ordered = samples_of(each)
        if not ordered:
            continue
        heights = [(n + 1) / len(ordered) for n in range(len(ordered))]
        at = [max(sample, 0.0005) for sample in ordered]
        axes.step(
            at, heights, where="post", color=COLOURS.get(each["contender"]), label=each["contender"], lw=1.8
        )
    if goal:
        axes.axvline(goal, color="#444", lw=1, ls="--")
        axes.annotate("goal for p99", (goal, 0.02), xytext=(4, 0), textcoords="offset points", fontsize=8)
    axes.axhline(0.99, color="#bbb", lw=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("share of all")
    axes.set_ylim(0, 1.02)
    beside(axes)


def bars(axes, series, unit):
    """Grouped by case; the whisker is the lowest and the highest repeat."""
    cases = list(dict.fromkeys(each["case"] for each in series))
    contenders = list(dict.fromkeys(each["contender"] for each in series))
    width = 0.8 / len(contenders)
    for position, contender in enumerate(contenders):
        mine = {
            each["case"]: [median(repeat) for repeat in each["repeats"]]
            for each in series
            if each["contender"] == contender
        }
        at = [cases.index(case) + position * width for case in mine]
        heights = [median(values) for values in mine.values()]
        reach = [
            [height - min(values) for height, values in zip(heights, mine.values(), strict=True)],
            [max(values) - height for height, values in zip(heights, mine.values(), strict=True)],
        ]
        axes.bar(
            at, heights, width * 0.92, yerr=reach, color=COLOURS.get(contender), label=contender, capsize=2
        )
    axes.set_xticks([n + 0.4 - width / 2 for n in range(len(cases))], cases)
    axes.set_yscale("log")
    axes.set_ylabel(unit)
    beside(axes)


def growth(axes, series):
    """p50 over depth, with p99 as a thin line."""
    for contender in dict.fromkeys(each["contender"] for each in series):
        mine = sorted(
            (number_of(each["case"]), samples_of(each)) for each in series if each["contender"] == contender
        )
        depths = [depth for depth, _ in mine]
        half = [median(samples) * 1000 for _, samples in mine]
        most = [samples[min(len(samples) - 1, int(len(samples) * 0.99))] * 1000 for _, samples in mine]
        axes.plot(depths, half, "o-", color=COLOURS.get(contender), label=f"{contender}, p50")
        axes.plot(depths, most, ":", color=COLOURS.get(contender), label=f"{contender}, p99")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("jobs queued")
    axes.set_ylabel("milliseconds")
    beside(axes)


def draw(folder, name, title, fill):
    figure, axes = plt.subplots(figsize=(8.4, 3.4))
    fill(axes)
    axes.set_title(title, fontsize=10, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(folder / name, metadata={"Date": None}, facecolor="white")
    plt.close(figure)
    print(name)


def main(source, folder):
    # The same data gives the same file, so that a page written again is no change.
    plt.rcParams.update({"svg.hashsalt": "groundcrew", "svg.fonttype": "none", "font.size": 9})
    plt.rcParams["font.family"] = ["DejaVu Sans", "sans-serif"]
    every = json.loads(source.read_text())["series"]

    def of(measure, beginning=""):
        return [each for each in every if each["measure"] == measure and each["case"].startswith(beginning)]

    if chosen := of("P1"):
        title = "Acknowledged submissions per second, by how many jobs wait already"
        draw(folder, "queue-submissions.svg", title, lambda axes: bars(axes, chosen, "per second"))
    if chosen := of("P2", "one decision"):
        draw(
            folder, "queue-decisions.svg", "One decision of the scheduler", lambda axes: growth(axes, chosen)
        )
    cases = list(dict.fromkeys(each["case"] for each in of("P3")))
    for case in cases[:2]:
        chosen = of("P3", case)
        title = f"From submit to the program's first byte, {case} elsewhere"
        name = f"queue-starts-{case.split()[0].replace(',', '')}.svg"
        draw(folder, name, title, lambda axes, chosen=chosen: shares(axes, chosen, GOALS["P3"]))
    if chosen := of("P4"):
        title = "Idle time of a unit between two jobs"
        draw(folder, "queue-gaps.svg", title, lambda axes: shares(axes, chosen, GOALS["P4"]))
    if chosen := of("Q"):
        draw(folder, "queue-pages.svg", "The queue's pages", lambda axes: shares(axes, chosen, GOALS["Q"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
