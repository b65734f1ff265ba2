"""Reads and saves the command's configuration. Environment variables have precedence over a file that only its owner
can read.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Config:
    url: str = ""
    token: str = ""
    ca_file: str = ""


def config_path() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "groundcrew" / "config.toml"


def read_config() -> Config:
    """Reads the configuration. A missing file counts as an empty one. GROUNDCREW_URL, GROUNDCREW_TOKEN and
    GROUNDCREW_CA_FILE have precedence.
    """
    path = config_path()
    saved = parse_toml(path.read_text()) if path.exists() else {}

    def value(name: str) -> str:
        return os.environ.get(f"GROUNDCREW_{name.upper()}") or str(saved.get(name, ""))

    return Config(url=value("url").rstrip("/"), token=value("token"), ca_file=value("ca_file"))


def parse_toml(text: str) -> dict[str, Any]:
    import tomllib  # Imported only if there is a file: many users set the environment variables alone.

    return tomllib.loads(text)


def save_config(config: Config) -> Path:
    """Writes the file, which is created with mode 600, and returns its path."""
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [f'{name} = "{escape(text)}"\n' for name, text in vars(config).items() if text]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)
    with os.fdopen(descriptor, "w") as target:
        target.writelines(lines)
    return path


def save_authority(certificate: str) -> Path:
    """Saves the certificate beside the configuration. The command trusts it from then on."""
    path = config_path().with_name("authority.pem")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(certificate)
    return path


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
