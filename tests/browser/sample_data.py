"""The gallery's data, in the shapes that the macros document."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from portal.i18n import translate

LINK = Markup('<a href="{}">{}</a>')


def bar(units: int, kind: str, **values: Any) -> dict[str, Any]:
    name = f"{kind} {units} {values.get('label', '')}".strip()
    return {"units": units, "kind": kind, "name": name, **values}


def node(name: str, *bars: dict[str, Any], remark: str = "H100", note: str = "71° 5.2 kW") -> dict[str, Any]:
    return {"name": name, "href": f"#{name}", "remark": remark, "note": note, "bars": list(bars)}


def work(units: int, label: str, fill: int, busy: float = 0.95) -> dict[str, Any]:
    return bar(units, "work", label=label, fill=fill, href=f"#job-{label}", use=[busy] * units)


def kinds_node() -> dict[str, Any]:
    return node(
        "gpu03",
        work(1, "1042", 1),
        bar(1, "idle"),
        bar(1, "unreachable"),
        bar(2, "free"),
        bar(1, "broken"),
        bar(2, "closed"),
        note="",
    )


def slots_node() -> dict[str, Any]:
    _ = translate.gettext
    return node(
        "cpu01",
        work(2, "2011", 3),
        work(1, "2012", 1),
        *[bar(1, "free") for _n in range(5)],
        remark=_("CPU slots"),
        note="3 / 8",
    )


def nodes() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        node("gpu01", work(8, "1042", 1)),
        node("gpu02", work(8, "1042", 1)),
        node("gpu03", work(5, "1051", 2), bar(2, "free"), bar(1, "broken")),
        node("gpu04", work(8, "1047", 2)),
        node("gpu06", work(4, "1049", 3), bar(4, "idle", label="1031")),
        node("gpu07", bar(8, "unreachable", label="1044"), note=_("unreachable")),
        node("gpu08", work(2, "1053", 1), work(2, "1054", 1), work(4, "1055", 5)),
        node("gpu11", work(4, "1046", 3), bar(4, "closed")),
    ]


def steps() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        {"word": _("SSH and BMC"), "state": "done", "answer": translate.localized_duration(2)},
        {"word": _("Driver 580.95"), "state": "done", "answer": translate.localized_duration(4)},
        {"word": _("Pulling image"), "state": "now", "answer": translate.localized_duration(61)},
        {"word": _("Burn-in"), "state": "to-come"},
    ]


def sign() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        {
            "kind": "unreachable",
            "sentence": Markup("<b>gpu07</b> ") + _("has not answered for 4 minutes"),
            "detail": _("job-1044 keeps its 8 GPUs booked"),
            "href": "#a",
            "button_label": _("See preview"),
        },
        {
            "kind": "broken",
            "sentence": Markup("<b>gpu03 · GPU 5</b> Xid 79"),
            "href": "#b",
            "button_label": _("See preview"),
        },
        {
            "kind": "caution",
            "sentence": Markup("<b>/data</b> 88 %"),
            "href": "#c",
            "button_label": _("See preview"),
        },
    ]


def facts() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        {
            "label": _("Progress"),
            "value": _("Epoch %(now)s / %(all)s", now=57.4, all=90),
            "remark": translate.localized_duration(10020),
            "meter": 0.63,
            "wide": True,
        },
        {"label": _("Best validation"), "value": "72.6 %"},
        {"label": _("Speed"), "value": "4,180", "remark": _("images/s")},
        {"label": _("Data wait"), "value": "3 %"},
    ]


def stats() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        {"label": _("In use"), "value": 28, "unit": "/ 32", "meter": 0.875},
        {"label": _("Mine"), "value": 16, "remark": "job-1042"},
        {"label": _("Days left"), "value": 100, "remark": "2027-02-28"},
    ]


def waiting() -> list[dict[str, Any]]:
    _ = translate.gettext
    return [
        {
            "start": Markup('<span class="depart">14:09</span>'),
            "within": translate.localized_duration(180),
            "units": 2,
            "job": LINK.format("#1", "job-1073"),
            "who": "taeyang · robotics",
            "waited": translate.localized_duration(240),
            "why": _("Image pytorch-2.9 is being pulled: 62 %, 6.1 GiB to go."),
            "mine": True,
            "open": False,
        },
        {
            "start": Markup('<span class="depart">14:38</span>'),
            "within": translate.localized_duration(1920),
            "units": 4,
            "job": LINK.format("#2", "job-1071"),
            "who": "seoyeon · vision-lab",
            "waited": translate.localized_duration(2520),
            "why": _("Needs 4 GPUs on one node; the emptiest node has 3."),
            "mine": False,
            "open": True,
        },
    ]


def sample() -> SimpleNamespace:
    """Everything that the templates in components/ ask for."""
    _ = translate.gettext
    return SimpleNamespace(
        kinds_node=kinds_node(),
        slots_node=slots_node(),
        nodes=nodes(),
        fills=[{"fill": n, "word": w, "count": c} for n, w, c in ((1, "vision-lab", 28), (2, "nlp-24", 28))],
        kinds=[
            {"kind": kind, "count": count}
            for kind, count in (("idle", 5), ("free", 7), ("unreachable", 8), ("broken", 1))
        ],
        repair=Markup("{} {}").format(
            _("A space and “?” are not allowed."),
            LINK.format("#use", _("Use %(name)s", name="train-data.csv")),
        ),
        steps=steps(),
        sign=sign(),
        facts=facts(),
        stats=stats(),
        waiting=waiting(),
        bold=lambda word: Markup("<b>{}</b>").format(word),
        link=lambda href, word: LINK.format(href, word),
    )


def metrics(steps: int) -> dict[str, Any]:
    """A plausible training: loss falls, accuracy rises, the rate steps once."""
    xs = list(range(1, steps + 1))
    every = [step for step in xs if step % 20 == 0]
    wave = [0.06 * math.sin(step * 1.7) + 0.04 * math.sin(step * 0.61) for step in xs]
    return {
        "series": {
            "loss/train": [
                xs,
                [2.4 * math.exp(-step / 60) + 0.2 + w for step, w in zip(xs, wave, strict=True)],
            ],
            "loss/validation": [every, [2.4 * math.exp(-step / 60) + 0.28 for step in every]],
            "accuracy/train": [xs, [0.97 * (1 - math.exp(-step / 50)) for step in xs]],
            "accuracy/validation": [every, [0.95 * (1 - math.exp(-step / 50)) for step in every]],
            "learning_rate": [xs, [0.1 if step < 120 else 0.01 for step in xs]],
            "images_per_second": [xs, [4100 + 400 * w for w in wave]],
        },
        "size": steps * 100,
    }


def log_text() -> bytes:
    lines = [f"epoch {n // 20 + 1}/90 step {n % 20 * 5} loss {2 / (n + 1):.3f}" for n in range(400)]
    lines[60] = "WARNING: no device found."
    lines[61] = (
        "\x1b[31mERROR\x1b[0m: it goes on \x1b[1mall the same\x1b[0m \x1b]0;title\x07<b>not markup</b>"
        " \x1b]8;;https://elsewhere.example\x1b\\a link\x1b]8;;\x1b\\\x1b]52;c;ZXZpbA==\x07"
    )
    lines[62] = "10 %\r50 %\r100 %"
    return ("\n".join(lines) + "\n").encode()
