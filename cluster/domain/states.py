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
    """Silent; its units stay booked, because nobody knows."""
    LOST = "lost"
    """Silent for longer than the grace time: its attempts were fenced."""
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


class Visibility(StrEnum):
    PUBLIC = "public"
    PRIVATE = "private"


class Launcher(StrEnum):
    HOROVOD = "horovod"
    TORCHRUN = "torchrun"
    PLAIN = "plain"


class OperationKind(StrEnum):
    ENVIRONMENT_BUILD = "environment.build"
    DATASET_IMPORT = "dataset.import"
    DATASET_SAMPLE = "dataset.sample"
    DATASET_DELETE = "dataset.delete"
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
    MISSING = "missing"
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


class NotificationChannel(StrEnum):
    MAIL = "mail"
    WEBHOOK = "webhook"


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
