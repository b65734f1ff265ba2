"""Finds docstrings whose first sentence has no head: ``python -m tests.structure.prose``.

A first sentence is headless if it leaves its subject to the name above it ("Of the default environment."), or begins
with a pronoun that stands for nothing yet ("It was announced."). Short phrases that name a value ("Seconds between two
tries.") and sentences that leave out "this function" ("Returns the node.") have a head.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.structure.source import Module, read_source

QUESTION = re.compile(r"(whether|when|how(?: \w+)?|why|since when|until when)\b ", re.I)
"""A question may name a value ("Whether the job has ended."), if its subject is named."""
PRONOUN = re.compile(r"(it|its|they|their|he|his|she|her)\b", re.I)
HEADLESS = re.compile(r"(what|who|whose|whoever|whatever|which|where|so (many|much|long|often|few))\b", re.I)
PREPOSITION = re.compile(
    r"(of|by|in|into|at|on|onto|from|between|below|beneath|above|over|under|to|for|with|without|beside|besides|"
    r"before|after|during|within|through|per|like|than|against)\b",
    re.I,
)
"""A sentence that begins with one has a head if a verb follows before any subordinate clause."""
CONJUNCTION = re.compile(r"(while|if|because|although|unless|once|until|since|as)\b", re.I)
"""A sentence that begins with one has a head if a verb follows its first comma."""
SUBORDINATE = re.compile(
    r"[:;(]|\b(that|which|who|whose|if|because|when|while|until|where|although|unless|whether|what|how|so)\b"
)
VERB = re.compile(
    r"\b(is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|will|would|should|could|needs?|gets?|"
    r"runs?|stays?|starts?|ends?|reads?|writes?|goes|go|makes?|takes?|keeps?|waits?|uses?|learns?|finds?|"
    r"listens?|sends?|return|multiplies|say|says|redirects|names|counts?|meet|become|becomes|answers?|arrive|chooses?|"
    r"gives?|holds?|leads?|moves?|stand|stands|works?|shows?|means?|knows?|allow|serves?)\b"
)
SENTENCE_END = re.compile(r"[.:?!…](?=\s|$)")


@dataclass(frozen=True)
class FirstSentence:
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def find_headless(modules: list[Module]) -> list[FirstSentence]:
    return [each for module in modules for each in read_first_sentences(module) if is_headless(each.text)]


def read_first_sentences(module: Module) -> Iterator[FirstSentence]:
    """Those of the module, its classes and functions, and those under a field or constant."""
    for node in module.nodes:
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield FirstSentence(module.path, node.lineno, first_sentence(node.value.value))


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    end = SENTENCE_END.search(paragraph)
    return paragraph[: end.end()] if end else paragraph


def is_headless(sentence: str) -> bool:
    if question := QUESTION.match(sentence):
        return bool(PRONOUN.match(sentence, question.end()))
    if PRONOUN.match(sentence) or HEADLESS.match(sentence):
        return True
    if preposition := PREPOSITION.match(sentence):
        clause = SUBORDINATE.split(sentence[preposition.end() :], maxsplit=1)[0]
        return not VERB.search(clause)
    if CONJUNCTION.match(sentence):
        _, comma, rest = sentence.partition(",")
        return not (comma and VERB.search(rest))
    return False


if __name__ == "__main__":
    print("\n".join(map(str, find_headless(read_source().modules))))
