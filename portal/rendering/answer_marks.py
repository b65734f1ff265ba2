"""Marks the places in HTML whose text differs in each answer. A mark is a text that nobody can guess, and it is
replaced when the answer is sent. HTML with marks can be kept, and compared with the HTML that a browser has.
"""

import hmac
import re
import secrets
from collections.abc import Callable
from html import escape

from flask import Flask, Response

from portal.shared_objects import share_object, shared_object


class AnswerMarks:
    """Mark → the text that replaces it.

    Marks are secret, so that nobody can have a mark written into a page. All processes of an installation have the
    same marks: the ETags of fragments are made of the text before the replacement.
    """

    def __init__(self, secret_key: str) -> None:
        self.prefix = f"mark-{hmac.digest(secret_key.encode(), b'answer marks', 'sha256').hex()[:32]}-"
        self.pattern = re.compile(self.prefix.encode() + rb"([a-z_]+)\.")
        self.writers: dict[str, Callable[[], str]] = {}


def init_app(app: Flask) -> None:
    share_object(app, AnswerMarks, AnswerMarks(str(app.secret_key or secrets.token_hex(16))))
    app.after_request(replace_marks)


def add_mark(app: Flask, name: str, write: Callable[[], str]) -> None:
    """Gives templates `name()`, which is written as `write()` in each answer."""
    marks = shared_object(AnswerMarks, app)
    marks.writers[name] = write
    mark = f"{marks.prefix}{name}."
    app.jinja_env.globals[name] = lambda: mark


def replace_marks(response: Response) -> Response:
    if response.mimetype != "text/html" or response.is_streamed or response.status_code == 304:
        return response
    html = response.get_data()
    marks = shared_object(AnswerMarks)
    texts: dict[bytes, bytes] = {}

    def text(found: re.Match[bytes]) -> bytes:
        name = found[1]
        if name not in texts:
            texts[name] = escape(marks.writers[name.decode()]()).encode()
        return texts[name]

    replaced, count = marks.pattern.subn(text, html)
    if count:
        response.set_data(replaced)
    return response
