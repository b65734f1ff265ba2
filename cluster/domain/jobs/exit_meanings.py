"""The meaning of exit codes and signals."""

from typing import Any

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}
"""Linux numbers, signal(7); those that end a program and that people have met."""

CODE_OF_SIGNAL = {
    2: "exit.interrupt_key",
    6: "exit.aborted",
    9: "exit.killed",
    11: "exit.segmentation_fault",
    15: "exit.terminated",
    25: "exit.file_too_large",
}
CODE_OF_EXIT = {
    0: "exit.finished",
    1: "exit.error",
    2: "exit.wrong_usage",
    126: "exit.not_executable",
    127: "exit.command_not_found",
}


def meaning_of_status(exit_code: int | None, signal: int | None = None) -> tuple[str, dict[str, Any]]:
    """Code and data of a bare exit status; an exit code above 128 is a shell's way to name a signal."""
    if signal is None and exit_code is not None and 128 < exit_code <= 128 + 64:
        signal = exit_code - 128
    if signal is not None:
        known = {"signal": signal, "signal_name": SIGNALS.get(signal, f"SIG{signal}")}
        return CODE_OF_SIGNAL.get(signal, "exit.signal"), {"exit_code": 128 + signal} | known
    if exit_code is None:
        return "exit.lost", {}
    return CODE_OF_EXIT.get(exit_code, "exit.other"), {"exit_code": exit_code}
