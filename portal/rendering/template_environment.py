"""Compiles every template once per language: the texts of a template are translated while it is compiled."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from flask.templating import Environment
from jinja2 import Template, nodes
from jinja2.visitor import NodeTransformer

from portal.i18n.translate import LANGUAGES, portal_translations, request_language


class TranslatingEnvironment(Environment):
    """Hands out the templates of the request's language; each language has an environment of its own."""

    language: str | None = None
    """The language; None in the environment that Flask uses."""
    by_language: dict[str, TranslatingEnvironment]

    def in_language(self, language: str) -> TranslatingEnvironment:
        """Shares globals, filters and loader with this one; made at the language's first template."""
        made: dict[str, TranslatingEnvironment] = self.__dict__.setdefault("by_language", {})
        if language not in made:
            translated = self.overlay()
            translated.language = language
            made[language] = translated
        return made[language]

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,
    ) -> Template:
        if self.language is None:
            return self.in_language(request_language()).get_template(name, parent, globals)
        return super().get_template(name, parent, globals)

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """No template has globals of its own: all share the one dictionary, which is copied for every page and compared
        for every import."""
        return self.globals if d is None else super().make_globals(d)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        if self.language is not None:
            FixedTexts(self.language).visit(tree)
        return tree


class FixedTexts(NodeTransformer):
    """Replaces `_("…")` and `language()` by the translation. Our messages contain no foreign HTML: they are markup, and
    filled-in values are escaped.
    """

    def __init__(self, language: str) -> None:
        assert language in LANGUAGES
        self.language = language

    def visit_Call(self, call: nodes.Call) -> nodes.Node:
        self.generic_visit(call)
        if not isinstance(call.node, nodes.Name) or call.dyn_args is not None or call.dyn_kwargs is not None:
            return call
        if call.node.name == "language" and not call.args:
            return nodes.Const(self.language, lineno=call.lineno)
        if call.node.name == "_" and len(call.args) == 1 and isinstance(call.args[0], nodes.Const):
            text = portal_translations(self.language).gettext(call.args[0].value)
            fixed = nodes.TemplateData(text, lineno=call.lineno)
            if not call.kwargs:
                return fixed
            values = [
                nodes.Pair(nodes.Const(given.key, lineno=given.lineno), given.value, lineno=given.lineno)
                for given in call.kwargs
            ]
            return nodes.Mod(fixed, nodes.Dict(values, lineno=call.lineno), lineno=call.lineno)
        return call
