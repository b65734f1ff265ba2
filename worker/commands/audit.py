"""``groundcrew-audit verify`` (with ``make up``: ``make audit``) checks that the access log still matches its seals.

The exit code is 0 if it does, and 1 with the first violation or if the log cannot be read.
"""

import argparse
import os
import sys
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.services.audit.seals import check_audit
from cluster.settings import Settings
from worker.backups.audit_anchors import anchors_here, anchors_in_log
from worker.bootstrap.terminal import exit_with_error, language_of_terminal, print_error, print_sentence
from worker.composition import open_cluster
from worker.embedded.settings_file import read_installed_settings


def verify_access_log(settings: Settings, logs: list[Path]) -> int:
    anchors = anchors_here(settings) + [anchor for file in logs for anchor in anchors_in_log(file)]
    cluster = open_cluster(settings)
    try:
        standing = check_audit(cluster, anchors)
    finally:
        cluster.store.close()
    if standing.violation is not None:
        code, data, language = standing.violation.code, standing.violation.data, language_of_terminal()
        sys.stderr.write(
            f"{words.sentence(code, data, language)} {words.hint(code, data, language)}".strip() + "\n"
        )
        return 1
    print_sentence("The access log is as it was sealed: {entries} entries in {seals} seals.",
        entries=standing.checked, seals=standing.seals)  # fmt: skip
    print_sentence("Seals that were written down elsewhere, all of them in it: {count}", count=len(anchors))
    if later := standing.entries - standing.checked:
        print_sentence("Not sealed yet, and not checked: {count}", count=later)
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("groundcrew-audit", description=__doc__)
    parser.add_argument("verb", choices=["verify"])
    parser.add_argument("--log", type=Path, action="append", default=[], help="where seals were written down")
    chosen = parser.parse_args(arguments)
    for file in chosen.log:
        if file.is_dir() or not os.access(file, os.R_OK):
            exit_with_error("--log {file}: there is no such file that you may read.", file=file)
    try:
        return verify_access_log(read_installed_settings(), chosen.log)
    except GroundcrewError as error:
        sys.stderr.write(words.sentence(error.code, error.data, language_of_terminal()) + "\n")
    except DBAPIError as error:
        print_error("The database does not answer: {reason}", reason=str(error.orig).strip())
    return 1
