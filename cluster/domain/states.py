"""The states and kinds that rows keep by value and pages say in words."""

from enum import StrEnum


class JobState(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


class DesiredState(StrEnum):
    RUN = "run"
    STOP = "stop"


class AttemptState(StrEnum):
    PLACED = "placed"
    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"


class UserRole(StrEnum):
    ADMINISTRATOR = "administrator"
    USER = "user"


class UserState(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"
    SERVICE = "service"


class WorkspaceState(StrEnum):
    SCHEDULED = "scheduled"
    ACTIVE = "active"
    EXPIRED = "expired"


class NodeState(StrEnum):
    READY = "ready"
    DRAINING = "draining"
    UNREACHABLE = "unreachable"
    """The node is silent. Its units stay booked, because its state is unknown."""
    LOST = "lost"
    """The node was silent for longer than the grace time, and its attempts were fenced."""
    NO_EXECUTOR = "no_executor"


class UnitKind(StrEnum):
    GPU = "gpu"
    CPU_SLOT = "cpu_slot"


class UnitState(StrEnum):
    OK = "ok"
    BROKEN = "broken"
    GONE = "gone"


class DatasetKind(StrEnum):
    UPLOAD = "upload"
    PATH = "path"
    SAMPLE = "sample"


class DatasetState(StrEnum):
    PREPARING = "preparing"
    READY = "ready"
    FAILED = "failed"


class TrainingKind(StrEnum):
    BUILT_IN = "built_in"
    ADVANCED = "advanced"
    NOTEBOOK = "notebook"
    """Own code that is written in JupyterLab and may begin without any file."""


class JobKind(StrEnum):
    PROGRAM = "program"
    NOTEBOOK = "notebook"
    """JupyterLab for one person, until that person, the idle time or the time limit ends it."""


class CodeState(StrEnum):
    """The state of one version of a training's code. A version that is ready never changes."""

    PREPARING = "preparing"
    READY = "ready"
    FAILED = "failed"


class CodeSource(StrEnum):
    """The way in which a version of code arrived."""

    FILES = "files"
    ARCHIVE = "archive"
    GIT = "git"
    EDITOR = "editor"
    NOTEBOOK = "notebook"


class GitCredential(StrEnum):
    """The way in which git proves to the server that it may read."""

    NONE = "none"
    TOKEN = "token"
    DEPLOY_KEY = "deploy_key"


class Visibility(StrEnum):
    PUBLIC = "public"
    PRIVATE = "private"


class Launcher(StrEnum):
    HOROVOD = "horovod"
    TORCHRUN = "torchrun"
    PLAIN = "plain"


class OperationKind(StrEnum):
    ENVIRONMENT_BUILD = "environment.build"
    """Builds the default environment."""
    ENVIRONMENT_INSTALL = "environment.install"
    """Installs an environment from a requirements file."""
    ENVIRONMENT_DELETE = "environment.delete"
    EDITOR_BUILD = "editor.build"
    DATASET_IMPORT = "dataset.import"
    DATASET_SAMPLE = "dataset.sample"
    DATASET_DELETE = "dataset.delete"
    CODE_IMPORT = "code.import"
    CODE_FETCH = "code.fetch"
    REPAIR = "repair"
    BACKUP = "backup"
    NOTICES = "notices"


class OperationState(StrEnum):
    REQUESTED = "requested"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class EnvironmentState(StrEnum):
    UNAPPROVED = "unapproved"
    """Waits for the approval of a manager."""
    MISSING = "missing"
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


class EnvironmentSource(StrEnum):
    """The kinds of origin of an environment."""

    DEFAULT = "default"
    """The environment is built from the description that comes with this version."""
    REQUIREMENTS = "requirements"
    """The environment is built from a requirements file that a person has given."""
    NOTEBOOK = "notebook"
    """Another environment with the packages that a person has installed in a notebook."""
    IMAGE = "image"
    """A container image of the site."""


class NotificationChannel(StrEnum):
    MAIL = "mail"
    WEBHOOK = "webhook"
    """The webhook of the installation, for alerts."""
    PERSONAL_WEBHOOK = "personal_webhook"


class NotificationKind(StrEnum):
    """The events that a person may choose to be told of."""

    JOB_ENDED = "job_ended"
    JOB_FAILED = "job_failed"
    JOB_WAITS = "job_waits"
    TERM_ENDS = "term_ends"
    NOTEBOOK_IDLE = "notebook_idle"
    ENVIRONMENT_ASKED = "environment_asked"


class NotificationState(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    GIVEN_UP = "given_up"


class TaskQueue(StrEnum):
    GENERAL = "general"
    IMAGES = "images"
    REPAIR = "repair"
    BACKUPS = "backups"


LIVE_JOB_STATES = (JobState.WAITING, JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
ENDED_JOB_STATES = (JobState.FINISHED, JobState.FAILED, JobState.STOPPED)
