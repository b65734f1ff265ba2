"""Decides whether another try of an operation that failed or was given up could end differently."""

DEPENDS_ON_MACHINE = frozenset({"archive.too_much_memory"})
"""Codes of refused archives that may be accepted at another moment or with another setting."""


def retry_obstacle(error_code: str | None, *, is_subject_deleted: bool) -> str | None:
    """The code of the reason why another try is useless; None if a try may succeed."""
    if is_subject_deleted:
        return "operation.subject_deleted"
    if error_code and error_code.startswith("archive.") and error_code not in DEPENDS_ON_MACHINE:
        return "operation.same_refusal"
    return None
