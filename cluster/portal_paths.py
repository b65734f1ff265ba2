"""The portal's paths and cookie names that other programs need: alerts, mails, agents, drills and health checks."""

from cluster.domain.alerts import Alert, AlertTopic

HEALTH = "/health"
METRICS = "/metrics"
STREAM = "/stream"
SIGN_IN = "/sign-in"
FIRST_ADMINISTRATOR = "/first-administrator"
PROFILE = "/profile"
API = "/api/v1"
HEARTBEATS = f"{API}/heartbeats"
DRILL_PAGES = ("/", "/queue", "/users", "/access-log")
"""The pages that a drill opens as an administrator: the overview, and one page for each of the largest tables."""


def one_time_link(secret: str) -> str:
    """The page of a password link, on which its holder chooses a new password."""
    return f"/link/{secret}"


def log_chunks(job_id: int, attempt: int | None = None) -> str:
    """The address of the chunks of a job's log: of the newest attempt unless another is asked for."""
    return f"/jobs/{job_id}/log" + (f"?attempt={attempt}" if attempt is not None else "")


def alert_path(alert: Alert, is_administrator: bool = True) -> str:
    """The page that ends the alert; empty if there is none."""
    subject = alert.subject
    if alert.topic is AlertTopic.ENVIRONMENT:
        return f"/operations/{subject}" if subject else ""
    if alert.topic is AlertTopic.WORKSPACE:
        return f"/workspaces/{subject}/extend" if is_administrator else f"/workspaces/{subject}"
    return {
        AlertTopic.JOB: f"/jobs/{subject}",
        AlertTopic.OPERATION: f"/operations/{subject}",
        AlertTopic.NODE: f"/nodes/{subject}",
        AlertTopic.ENGINE: "/nodes",
        AlertTopic.KUBERNETES: "/nodes",
        AlertTopic.BACKUPS: "/repairs/backups",
        AlertTopic.DISK: "/repairs/free-disk-space",
        AlertTopic.DATASET: f"/datasets/{subject}",
        AlertTopic.TELLING: PROFILE,
        AlertTopic.SCHEDULER: "/repairs" if is_administrator else "/queue",
    }[alert.topic]


def session_cookie_name(port: int) -> str:
    """The cookie's name contains the port, because browsers send cookies to every port of a host and two
    installations may share one."""
    return f"gc_session_{port}"


def browser_cookie_name(port: int) -> str:
    """The cookie by which the portal knows a browser in which somebody has signed in before."""
    return f"gc_browser_{port}"


def form_cookie_name(port: int) -> str:
    """The cookie that holds the token of the forms."""
    return f"gc_form_{port}"
