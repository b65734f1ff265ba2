"""Redact secrets in text that leaves the machine: known ones by value, others by pattern."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

REDACTED = "(secret)"
SHORTEST_SECRET = 8
"""Characters. Shorter values would redact words that only look alike."""
PUBLIC_SETTINGS = frozenset(
    f"GROUNDCREW_{name}"
    for name in (
        *("STATE_DIR", "CACHE_DIR", "HOST", "PORT", "PUBLIC_URL", "TIME_ZONE", "EXECUTOR", "LAUNCHER"),
        *("DATABASE_URL", "REDIS_URL", "ANSIBLE_DIR", "ANSIBLE_PROGRAMS", "BACKUPS_DIR", "TLS_DIR"),
        *("DOCKER_IMAGE", "DOCKER_SOCKET", "DOCKER_GPUS", "DOCKER_NETWORK", "UID_BASE", "GID_BASE"),
        *("PASSWORD_POLICY", "UNICODE_FILE_NAMES", "UPLOAD_LIMIT_BYTES", "CPU_SLOTS", "DATASET_ROOTS"),
        *("NODE_GRACE_SECONDS", "BEHIND_PROXY", "SERVICE_USER", "BACKUP_AT", "BACKUP_COPY", "MAIL_FROM"),
        *("WEBHOOK_HOSTS", "CLUSTER_NETWORKS", "GIT_HOSTS", "PACKAGE_FOLDER"),
    )
)
"""Settings whose value may be shown. A new setting is hidden until it is named here."""
SECRET_PATTERNS = (
    re.compile(r"gcn?_\d{1,9}_[\w-]{20,}", re.ASCII),
    re.compile(r"(?<=://)[^/\s@\"']*:[^/\s@\"']+(?=@)"),
    re.compile(r"(?<=[Bb]earer )[^\s\"',]+"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    re.compile(r"(?i)(?<=password=)[^\s&\"',]+"),
    # The form of texts that token_urlsafe makes of 256 bits or more: cookies, links, keys. A digest has only digits and
    # the letters a to f.
    re.compile(
        r"(?<![\w-])(?![0-9a-f]+(?![\w-]))(?=[\w-]*[0-9])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{43,}", re.ASCII
    ),
)


def redact_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the names of all settings, and the values of those that may be shown."""
    return {name: value if name in PUBLIC_SETTINGS else REDACTED for name, value in sorted(settings.items())}


def list_secrets(settings: Mapping[str, str]) -> list[str]:
    """Returns the values that may not be shown, and passwords within addresses, the longest first."""
    found = {value for name, value in settings.items() if name not in PUBLIC_SETTINGS}
    for value in settings.values():
        password = urlsplit(value).password if "://" in value else None
        found |= {password, unquote(password)} if password else set()
    return sorted((value for value in found if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def redact_text(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    for form in SECRET_PATTERNS:
        text = form.sub(REDACTED, text)
    return text
