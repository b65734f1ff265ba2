"""Our Markdown becomes HTML that the portal's rules allow."""

import pytest

from portal.rendering.markdown import Heading, render_markdown

LINKS = {"queue.md": "queue", "https://example.org": "https://example.org"}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **b** `c <d>`", "<p>a <strong>b</strong> <code>c &lt;d&gt;</code></p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<b onclick=x>y</b>", "<p>&lt;b onclick=x&gt;y&lt;/b&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[the queue](queue.md)", '<p><a href="queue">the queue</a></p>\n'),
        ("see [settings](../topic/settings.md).", "<p>see settings.</p>\n"),
        ("```sh\na <b>\n```", '<pre><code class="language-sh">a &lt;b&gt;\n</code></pre>\n'),
    ],
)
def test_what_is_written_is_text(text: str, html: str) -> None:
    assert render_markdown(text, LINKS.get).html == html


def test_a_table_scrolls_in_its_region_and_has_no_inline_style() -> None:
    html = render_markdown("| a | b |\n|---|--:|\n| 1 | 2 |\n", LINKS.get).html
    assert html.startswith('<div class="table-region" tabindex="0"><table class="lines">')
    assert "<td>2</td>" in html and "style=" not in html


def test_headings_have_anchors_and_the_first_one_is_the_title() -> None:
    page = render_markdown("# Your *own* code\n\nText\nover lines.\n\n## By hand, `x`\n", LINKS.get)
    assert (page.title, page.paragraphs) == ("Your own code", ("Text over lines.", "By hand, x"))
    assert page.headings == (Heading(2, "By hand, x", "by-hand-x"),)
    assert '<h2 id="by-hand-x">' in page.html and "<h1" not in page.html
