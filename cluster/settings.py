"""Every setting of the installation, read once by the entry points from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import TypedDict
from zoneinfo import ZoneInfo

from cluster.domain.executors import ExecutorKind
from cluster.domain.installation import InstallationKind
from cluster.domain.jobs.unix_ids import JobUnixIds
from cluster.domain.notebooks.addresses import NotebookAddress, choose_notebook_address
from cluster.domain.states import NotificationChannel
from cluster.settings_reader import PREFIX, IpNetwork, MissingSettings, SettingsReader

VERSION = "0.1.0"
CLUSTER_NETWORKS = "10.244.0.0/16,10.96.0.0/12,172.17.0.0/16"
"""The networks of pods and services as site.yml sets them up, and of Docker's bridge."""
MAIL_SCHEMES = ("smtp", "smtp+starttls", "smtps")


@dataclass(frozen=True)
class AgentSettings:
    """The settings of a node's agent that has no database: the portal to which it reports, and its token."""

    api_url: str
    authority: Path | None
    """The certificate authority of the installation; None: the ones that the machine trusts."""
    token_file: Path
    state_dir: Path
    cpu_slots: int

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "AgentSettings | None":
        """Reads the settings of the agent; None if the agent is to write to the database itself. Raises
        MissingSettings.
        """
        url = environment.get(PREFIX + "API_URL", "")
        if not url:
            return None
        slots = environment.get(PREFIX + "CPU_SLOTS", "2")
        needed = {PREFIX + "NODE_TOKEN_FILE", PREFIX + "STATE_DIR"}
        wrong = [name for name in sorted(needed) if not environment.get(name)]
        if wrong or not slots.isdigit():
            raise MissingSettings(wrong or [PREFIX + "CPU_SLOTS"])
        authority = environment.get(PREFIX + "API_AUTHORITY", "")
        return cls(
            api_url=url,
            authority=Path(authority) if authority else None,
            token_file=Path(environment[PREFIX + "NODE_TOKEN_FILE"]),
            state_dir=Path(environment[PREFIX + "STATE_DIR"]),
            cpu_slots=int(slots),
        )


class NotificationSettings(TypedDict):
    """The channels by which the installation sends messages."""

    mail_url: str
    mail_from: str
    webhook_url: str
    webhook_secret: str
    webhook_hosts: tuple[str, ...]


def read_notification_settings(reader: SettingsReader) -> NotificationSettings:
    """Reads the settings of mails, which need a sender, and of webhooks, which need a secret."""
    mail_url = reader.address("MAIL_URL", MAIL_SCHEMES)
    webhook_url = reader.address("WEBHOOK_URL", ("http", "https"))
    return {
        "mail_url": mail_url,
        "mail_from": (reader.required if mail_url else reader.text)("MAIL_FROM"),
        "webhook_url": webhook_url,
        "webhook_secret": (reader.required if webhook_url else reader.text)("WEBHOOK_SECRET"),
        "webhook_hosts": reader.hosts("WEBHOOK_HOSTS"),
    }


class SourceSettings(TypedDict):
    """The settings that say from where code and packages may come."""

    git_hosts: tuple[str, ...]
    package_index: str
    package_folder: Path | None
    credential_key: str


def read_source_settings(reader: SettingsReader) -> SourceSettings:
    return {
        "git_hosts": reader.hosts("GIT_HOSTS"),
        "package_index": reader.index("PACKAGE_INDEX"),
        "package_folder": reader.folder("PACKAGE_FOLDER"),
        "credential_key": reader.text("CREDENTIAL_KEY"),
    }


class NetworkSettings(TypedDict):
    """The cluster's own networks, to which no git source or webhook may lead, and where the SSH door listens."""

    cluster_networks: tuple[IpNetwork, ...]
    ssh_port: int
    ssh_address: str
    ssh_dir: Path | None


def read_network_settings(reader: SettingsReader, host: str) -> NetworkSettings:
    """The SSH door listens where the portal does unless it has an address of its own."""
    return {
        "cluster_networks": reader.networks("CLUSTER_NETWORKS", CLUSTER_NETWORKS),
        "ssh_port": reader.number("SSH_PORT", 2222),
        "ssh_address": reader.text("SSH_ADDRESS", host),
        "ssh_dir": reader.folder("SSH_DIR"),
    }


class NotebookSettings(TypedDict):
    """The address of notebooks, and the time for which an idle one runs."""

    notebook_address: str
    notebook_idle_minutes: int
    nginx_group: str


def read_notebook_settings(reader: SettingsReader) -> NotebookSettings:
    return {
        "notebook_address": reader.notebook_address("NOTEBOOK_ADDRESS"),
        "notebook_idle_minutes": reader.number("NOTEBOOK_IDLE_MINUTES", 120),
        "nginx_group": reader.text("NGINX_GROUP"),
    }


@dataclass(frozen=True)
class Settings:
    """All settings. Sizes are bytes, times seconds. `state_dir` holds everything that `make reset` deletes."""

    state_dir: Path
    cache_dir: Path
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    secret_key: str = field(repr=False)
    executor: ExecutorKind = ExecutorKind.PROCESS
    docker_image: str = ""
    """The image from which containers are made. Nothing here pulls it."""
    docker_socket: str = "/var/run/docker.sock"
    docker_gpus: str = "nvidia"
    docker_network: str = "none"
    kubeconfig: Path | None = None
    """The way to the API server of Kubernetes, with the rights of a service account and never those of an
    administrator.
    """
    kubernetes_image: str = ""
    """The image from which pods are made. Empty: the site's default image for the kind of unit."""
    kubernetes_storage: str = ""
    """`server:/folder` from which nodes mount the storage by NFS; empty: each node has it at the same path."""
    horovod_over: str = "mpi"
    """The connection of Horovod's ranks on several nodes: `mpi`, or `start_gloo`."""
    host: str = "127.0.0.1"
    port: int = 8470
    public_url: str = "http://127.0.0.1:8470"
    time_zone: str = "UTC"
    uid_base: int = 100_000
    gid_base: int = 100_000
    password_policy: str = "asvs"
    unicode_file_names: bool = False
    upload_limit_bytes: int = 20 * 1024**3
    disk_reserve_bytes: int | None = None
    """The bytes of each disk that stay free for the database and the logs; None: 1 GiB or 1 %, at most a tenth."""
    cpu_slots: int = 2
    memory_overcommit: int = 100
    """The percent of its units' share of a node's memory that a job may ask for."""
    job_processes: int = 4096
    """Processes and threads that a job may have at a time, for each of its units."""
    node_grace_seconds: int = 300
    """The time for which a node may be silent before its jobs start elsewhere."""
    dataset_roots: tuple[Path, ...] = (Path("/data"), Path("/mnt"), Path("/srv"))
    """Folders beneath which a path may be registered as a dataset."""
    is_behind_proxy: bool = False
    """Whether requests come only through our own proxy, which names the client's address."""
    launcher: str = "detached"
    """The way in which the process executor starts a shim: `detached`, or `systemd` for a transient unit of its own."""
    tls_dir: Path | None = None
    """The folder with `portal.pem` and `portal.key`, with which the portal itself speaks TLS; None if it does not."""
    authority_file: Path | None = None
    """The certificate authority that the command trusts once its fingerprint was compared; None: the machine's."""
    ansible_programs: Path | None = None
    """The folder of `ansible-playbook`, whose environment is not this one; None: made when it is first needed."""
    service_user: str = ""
    """The user of the services without root, who owns the storage and reads what jobs write."""
    ansible_dir: Path | None = None
    """The folder with the catalogue of repairs and its playbooks; None if this installation offers no repairs."""
    repair_broker: Path | None = None
    """The socket of the repair broker, which alone has the keys of the hosts; None: this machine alone."""
    master_node: str = ""
    """The name by which the master reports as a node; empty: the first that reported."""
    backups_dir: Path | None = None
    """The folder for backups of the database; None for one in the state directory."""
    owner_database_url: str = field(default="", repr=False)
    """The database by the role that owns its tables; empty: one role does everything, as with SQLite."""
    audit_key: str = field(default="", repr=False)
    """The key of the audit's seals, for the services that seal and check. Empty: the secret key is used."""
    metrics_token: str = field(default="", repr=False)
    """The token with which clients may read /metrics. Without a token only this machine may."""
    backup_at: time | None = None
    """The time of the nightly backup, by the installation's own clock; None: there is none."""
    backup_copy: str = ""
    """The target to which rsync copies verified backups: `user@host:/folder`, or a folder of another disk. Empty: no
    copies.
    """
    backup_recipient: str = ""
    """The public half of the recovery key, `age1…`, to which copies of backups are encrypted; empty: they are not."""
    before_restore_days: int = 30
    """The days for which a copy of the database from before a restore is kept. The newest copy always stays."""
    etcd_snapshots: Path | None = None
    """The folder in which the role kubernetes leaves snapshots of etcd; None if there is no Kubernetes to back up."""
    mail_url: str = field(default="", repr=False)
    """The mail server: `smtp://`, `smtp+starttls://` or `smtps://`, with name and password; empty: no mail."""
    mail_from: str = ""
    webhook_url: str = field(default="", repr=False)
    """The address that is called for each alert. Its path may be a secret. Empty: none is called."""
    webhook_secret: str = field(default="", repr=False)
    """The secret that signs each call."""
    webhook_hosts: tuple[str, ...] = ()
    """Hosts whose webhooks people may name in their profiles, each with or without a port; empty: nobody may."""
    cluster_networks: tuple[IpNetwork, ...] = tuple(map(ip_network, CLUSTER_NETWORKS.split(",")))
    """Networks in which no webhook of a person is called and no repository fetched; the nodes' own addresses are always
    among them."""
    notebook_address: str = ""
    """How browsers reach notebooks: a name of their own, `*.` and a name, or `:` and a port. Empty: a name below
    localhost if the portal is at localhost, else the port after the portal's."""
    notebook_idle_minutes: int = 120
    """The idle minutes after which a notebook is stopped; 0: none is."""
    nginx_group: str = ""
    """The group of nginx, which may connect to the sockets of notebooks. Empty: that of `make up`."""
    git_hosts: tuple[str, ...] = ()
    """Hosts from which code may be fetched although they are this machine or in one of the cluster's networks."""
    package_index: str = field(default="", repr=False)
    """The index of the packages of environments; `none`: `package_folder` alone; empty: this machine's."""
    package_folder: Path | None = None
    """A folder with wheels that are offered beside the index."""
    credential_key: str = field(default="", repr=False)
    """The key that seals credentials of git sources, for portal and task workers. Empty: the secret key is used."""
    ssh_port: int = 2222
    """The port of the SSH door to running jobs; 0: there is none."""
    ssh_address: str = "127.0.0.1"
    """The address on which the SSH door listens."""
    ssh_dir: Path | None = None
    """The door's folder, which nobody but root may change; None: in the state directory."""
    version: str = VERSION

    @property
    def installation_kind(self) -> InstallationKind:
        return InstallationKind.SERVERS if self.launcher == "systemd" else InstallationKind.EMBEDDED

    @property
    def notification_channels(self) -> list[NotificationChannel]:
        """The channels over which this installation can notify people."""
        addresses = {
            NotificationChannel.MAIL: self.mail_url,
            NotificationChannel.WEBHOOK: self.webhook_url,
            NotificationChannel.PERSONAL_WEBHOOK: self.webhook_hosts,
        }
        return [channel for channel, address in addresses.items() if address]

    @property
    def notebooks(self) -> NotebookAddress:
        return choose_notebook_address(self.notebook_address, self.public_url, self.port)

    @property
    def notebook_idle_limit(self) -> timedelta | None:
        return timedelta(minutes=self.notebook_idle_minutes) if self.notebook_idle_minutes else None

    @property
    def notebook_sockets(self) -> Path:
        """The folder in which each running notebook has a folder that only the notebook and nginx may enter."""
        return self.state_dir / "notebooks"

    @property
    def seal_secret(self) -> str:
        return self.audit_key or self.secret_key

    @property
    def credential_secret(self) -> str:
        return self.credential_key or self.secret_key

    @property
    def owner_url(self) -> str:
        """The address by which the database is migrated, dumped and restored."""
        return self.owner_database_url or self.database_url

    @property
    def backups(self) -> Path:
        return self.backups_dir or self.state_dir / "backups"

    @property
    def job_ids(self) -> JobUnixIds:
        """The numbers as which jobs run."""
        return JobUnixIds(self.uid_base, self.gid_base)

    @property
    def storage_dir(self) -> Path:
        """The folder of datasets, code, logs and checkpoints, by id."""
        return self.state_dir / "storage"

    @property
    def runtime_dir(self) -> Path:
        """The folder of the modules that a job imports: installed copies of the shim, `groundcrew_job` and the
        built-in models.
        """
        return self.state_dir / "runtime"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Raises MissingSettings with the whole list of what is missing or unusable."""
        told = SettingsReader(environment)
        host, port = told.text("HOST", "127.0.0.1"), told.number("PORT", 8470)
        settings = cls(
            state_dir=Path(told.required("STATE_DIR")),
            cache_dir=Path(told.required("CACHE_DIR")),
            database_url=told.required("DATABASE_URL"),
            redis_url=told.required("REDIS_URL"),
            secret_key=told.required("SECRET_KEY"),
            executor=ExecutorKind(told.choice("EXECUTOR", *ExecutorKind)),
            docker_image=told.required_by("DOCKER_IMAGE", ExecutorKind.DOCKER),
            docker_socket=told.text("DOCKER_SOCKET", "/var/run/docker.sock"),
            docker_gpus=told.choice("DOCKER_GPUS", "nvidia", "cdi"),
            docker_network=told.choice("DOCKER_NETWORK", "none", "own"),
            kubeconfig=told.folder_required_by("KUBECONFIG", ExecutorKind.KUBERNETES),
            kubernetes_image=told.text("KUBERNETES_IMAGE"),
            kubernetes_storage=told.export("KUBERNETES_STORAGE"),
            horovod_over=told.choice("HOROVOD_OVER", "mpi", "gloo"),
            host=host,
            port=port,
            public_url=told.text("PUBLIC_URL", f"http://{host}:{port}"),
            time_zone=told.zone("TIME_ZONE", "UTC"),
            uid_base=told.id_base("UID_BASE", 100_000),
            gid_base=told.id_base("GID_BASE", 100_000),
            password_policy=told.choice("PASSWORD_POLICY", "asvs", "classic"),
            unicode_file_names=told.choice("UNICODE_FILE_NAMES", "no", "yes") == "yes",
            upload_limit_bytes=told.number("UPLOAD_LIMIT_BYTES", 20 * 1024**3),
            disk_reserve_bytes=told.bytes_or_none("DISK_RESERVE_BYTES"),
            cpu_slots=told.number("CPU_SLOTS", 2),
            memory_overcommit=told.number("MEMORY_OVERCOMMIT", 100),
            job_processes=told.number("JOB_PROCESSES", 4096),
            node_grace_seconds=told.number("NODE_GRACE_SECONDS", 300),
            dataset_roots=told.folders("DATASET_ROOTS", "/data:/mnt:/srv"),
            is_behind_proxy=told.choice("BEHIND_PROXY", "no", "yes") == "yes",
            launcher=told.choice("LAUNCHER", "detached", "systemd"),
            tls_dir=(tls_dir := told.folder("TLS_DIR")),
            authority_file=told.folder("AUTHORITY_FILE") or (tls_dir and tls_dir / "authority.pem"),
            ansible_programs=told.folder("ANSIBLE_PROGRAMS"),
            service_user=told.text("SERVICE_USER"),
            ansible_dir=told.folder("ANSIBLE_DIR"),
            repair_broker=told.folder("REPAIR_DOOR"),
            master_node=told.text("MASTER_NODE"),
            backups_dir=told.folder("BACKUPS_DIR"),
            owner_database_url=told.text("OWNER_DATABASE_URL"),
            audit_key=told.text("AUDIT_KEY"),
            metrics_token=told.text("METRICS_TOKEN"),
            backup_at=told.time_of_day("BACKUP_AT"),
            backup_copy=told.place("BACKUP_COPY"),
            backup_recipient=told.recipient("BACKUP_RECIPIENT"),
            before_restore_days=told.number("BEFORE_RESTORE_DAYS", 30),
            etcd_snapshots=told.folder("ETCD_SNAPSHOTS"),
            **read_notification_settings(told),
            **read_source_settings(told),
            **read_network_settings(told, host),
            **read_notebook_settings(told),
        )
        if told.invalid_names:
            raise MissingSettings(told.invalid_names)
        return settings
