"""English for defects of backups and of their copies, by code."""

SENTENCES = {
    "broken.said": "{said}",
    "broken.not_ours": "It is no database of Groundcrew: the tables of its users and its audit are missing.",
    "broken.other_migration": "It is of migration {found}, its manifest says {expected}.",
    "broken.other_rows": "{table} has {found:rows}, its manifest says {expected:number}.",
    "broken.other_end": "Its newest audit entry is {found}, its manifest says {expected}.",
    "broken.unguarded": "The trigger that keeps the audit append-only is missing on {table}.",
    "broken.unreadable": "Its text cannot be read back: {said}",
    "broken.not_unpacked": "It cannot be unpacked: zstd ended with exit code {exit_code}.",
    "broken.other_kind": "It is of a {found} database, and this installation has {ours}.",
    "broken.other_revision": "A fresh etcd has revision {found} of it, the snapshot was of {expected}.",
    "broken.no_cluster": "A fresh etcd finds no cluster of Kubernetes in it.",
    "broken.changed": "The file is not the one that was written: its SHA-256 differs.",
    "broken.damaged": "The restored database is damaged: {said}",
    "broken.dangling": "A row of {table} refers to one that is missing in {other}.",
    "broken.cut": "It ends in the middle of a statement.",
    "broken.unit_twice": "A unit is held twice (number {number}).",
    "broken.ended_holds": "An ended attempt holds a unit (number {number}).",
    "broken.two_attempts": "A job has two living attempts (number {number}).",
    "broken.no_attempt": "A job runs without an attempt (number {number}).",
    "broken.attempt_too_many": "A job that does not run has a living attempt (number {number}).",
    "broken.no_cause": "A job ended without a cause (number {number}).",
    "broken.page_silent": "A portal on it does not answer on {path}: {said}",
    "broken.page_refused": "A portal on it answers {status} on {path}.",
    "broken.no_portal": "A portal on it does not start: {said}",
    "copying.no_rsync": "rsync is not installed on this machine.",
    "copying.too_long": "rsync did not end within {seconds:duration}.",
    "copying.no_recipient": (
        "There is no recovery key to encrypt it to: set GROUNDCREW_BACKUP_RECIPIENT (docs/howto/backups.md)."
    ),
    "copying.no_age": (
        "age is not installed on this machine, so that the copy cannot be encrypted: apt-get install age."
    ),
    "copying.not_encrypted": "age ended with exit code {exit_code}: {said}",
    "copying.failed": "rsync ended with exit code {exit_code}: {said}",
}

WORDS = {
    "queue.backups": "Backups",
    "state.backup.verified": "Verified",
    "state.backup.not_verified": "Not proven",
    "state.backup.damaged": "Damaged",
}

TITLES = {"broken": "A broken backup", "copying": "A backup's copy"}
