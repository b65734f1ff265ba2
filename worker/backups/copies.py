"""Copies proved backups to another machine by rsync; what could not be copied is tried again the next night."""

import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.services.backups import Backup, manifest_file, read_backups
from cluster.settings import Settings
from worker.backups.dump import alone, write_manifest

RSYNC = ("rsync", "--times", "--chmod=F600", "--partial-dir=.unfinished", "--timeout=120")
BY_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20"
"""Nobody is there who could type a password or look at an unknown host key."""
AT_MOST_SECONDS = 4 * 3600
LAST_WORDS = 300


def copy_proved(settings: Settings, now: Callable[[], datetime]) -> list[str]:
    """Those that were not copied yet, oldest first; their names. Raises Unavailable at the first that cannot be.

    The manifest goes after the file: at the other end, too, neither counts without the other.
    """
    done: list[str] = []
    if not settings.backup_copy:
        return done
    for backup in owed_copies(settings):
        # Nobody is kept waiting for a slow line: a file that is thrown away meanwhile is only not copied.
        said = copy(settings, backup)
        if said and not (settings.backups / backup.name).exists():
            continue
        note(settings, backup, {"copied_at": None if said else now().isoformat(), "copy_problem": said})
        if said:
            raise Unavailable("backup.not_copied", name=backup.name, place=settings.backup_copy, said=said)
        done.append(backup.name)
    return done


def owed_copies(settings: Settings) -> list[Backup]:
    with alone(settings):
        found = reversed(read_backups(settings.backups))
        return [each for each in found if each.restored_at is not None and each.copied_at is None]


def copy(settings: Settings, backup: Backup) -> str:
    """Empty where it went well, else rsync's last words."""
    target = settings.backup_copy.rstrip("/") + "/"
    for file in (settings.backups / backup.name, manifest_file(settings.backups, backup.name)):
        try:
            done = subprocess.run(
                [*RSYNC, f"--rsh={BY_SSH}", "--", str(file), target],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=AT_MOST_SECONDS, env=surroundings(),
            )  # fmt: skip
        except FileNotFoundError:
            return "rsync is not installed on this machine"
        except subprocess.TimeoutExpired:
            return f"rsync did not end within {AT_MOST_SECONDS // 3600} hours"
        if done.returncode != 0:
            return (
                " ".join(done.stderr.split())[-LAST_WORDS:] or f"rsync ended with exit code {done.returncode}"
            )
    return ""


def surroundings() -> dict[str, str]:
    """None of our secrets go along; ssh looks for its keys at home, or asks the agent."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "SSH_AUTH_SOCK") if name in os.environ}
    return {"LC_ALL": "C.UTF-8", **kept}


def note(settings: Settings, backup: Backup, told: dict[str, Any]) -> None:
    """In what its manifest says by now; nothing where it is gone."""
    with alone(settings):
        path = manifest_file(settings.backups, backup.name)
        if path.exists():
            write_manifest(settings.backups, json.loads(path.read_text()) | told)
