"""Read Korean translations from .po files with Babel, without compiled catalogues.

A folder contains one .po file per feature, in which `msgid` is the English text. Sentences, pages and the console
each have a folder.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations

__all__ = ["Translations", "load_translations", "read_messages"]


def read_messages(folder: Path, language: str) -> Iterator[tuple[Path, Message]]:
    """Every translated entry of the folder's `<language>/*.po`, with its file."""
    for path in sorted((folder / language).glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale=language, abort_invalid=True):
                if message.id and message.string and not message.fuzzy:
                    yield path, message


def load_translations(folder: Path, language: str) -> Translations:
    """Reads all .po files of `<folder>/<language>/` as one catalogue, empty if there are none. Texts without a
    translation stay English.
    """
    catalog = Catalog(locale=language)
    for _, message in read_messages(folder, language):
        catalog[message.id] = message
    compiled = BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return Translations(compiled)
