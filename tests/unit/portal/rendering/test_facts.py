"""A value is marked by what it is the value of, and stays the text that it was."""

from markupsafe import Markup

from portal.rendering.facts import fact, fact_in_sentence


def test_a_mark_escapes_text_and_keeps_markup() -> None:
    assert fact("<b>", "job", 12, "name") == Markup('<span data-fact="job:12:name">&lt;b&gt;</span>')
    assert fact(Markup("<b>2</b>"), "job", 12, "units") == Markup(
        '<span data-fact="job:12:units"><b>2</b></span>'
    )


def test_a_sentence_gives_its_value_with_the_mark() -> None:
    assert fact_in_sentence("2 jobs run", 2, "queue", "all", "running") == Markup(
        '<span data-fact="queue:all:running" data-value="2">2 jobs run</span>'
    )


def test_markup_of_a_value_does_not_break_the_mark() -> None:
    moment = Markup('<time datetime="2026-11-20">14:15</time>')
    assert 'data-value="14:15"' in fact_in_sentence("about 14:15", moment, "job", 12, "end")
