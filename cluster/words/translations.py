"""Read Korean translations from .po files, without compiled catalogues.

A folder holds one .po per feature; `msgid` is the English text. The portal reads its own folder with the
same loader.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from babel.messages.pofile import read_po

MessageKey = tuple[str | None, str]
"""(context or None, English)"""


@dataclass(frozen=True)
class Translations:
    """Translations of one language; what it does not know comes back in English."""

    texts: Mapping[MessageKey, tuple[str, ...]] = field(default_factory=dict)

    def gettext(self, english: str) -> str:
        return self._find(None, english) or english

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Korean has one form; English chooses by the number."""
        return self._find(None, singular) or (singular if number == 1 else plural)

    def pgettext(self, context: str, english: str) -> str:
        """The text for this context, else the one for any."""
        return self._find(context, english) or self.gettext(english)

    def _find(self, context: str | None, english: str) -> str:
        found = self.texts.get((context, english), ("",))
        return found[0]


def read_translations(folder: Path, language: str) -> Iterator[tuple[Path, MessageKey, tuple[str, ...]]]:
    """Every translated entry of the folder's `<language>/*.po`, with the file that it stands in."""
    for path in sorted((folder / language).glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale=language, abort_invalid=True):
                english = message.id if isinstance(message.id, str) else message.id[0]
                found = message.string or ""
                texts = (found,) if isinstance(found, str) else tuple(found)
                if english and texts and texts[0] and not message.fuzzy:
                    yield path, (message.context, english), texts


def load_translations(folder: Path, language: str) -> Translations:
    """All .po files of the folder `<folder>/<language>/` as one catalogue; empty where there is none."""
    return Translations({key: texts for _, key, texts in read_translations(folder, language)})
