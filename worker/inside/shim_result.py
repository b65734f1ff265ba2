"""Combines the launcher's exit, the ranks' exits and the kernel's out-of-memory kills into exit.json."""

import os
import signal

import shim_files


def parse_wait_status(status):
    """(exit code as a shell says it, signal or None) of a wait status."""
    if status is None:
        return None, None
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status), os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def read_ranks(plan):
    """What each rank's wrapper wrote, where it makes sense; one that was killed wrote nothing."""
    ranks = []
    for number in range(int(plan.get("ranks") or 1)):
        told = shim_files.read_untrusted_json(plan["out"], "rank-%d.exit.json" % number)
        rank = parse_rank(number, told) if told else None
        if rank:
            ranks.append(rank)
    return ranks


def parse_rank(number, told):
    exit_code, by, ended, pid = (told.get(key) for key in ("exit_code", "signal", "ended", "pid"))
    if not is_natural_number(exit_code) or exit_code > 255:
        return None
    return {
        "rank": number,
        "exit_code": exit_code,
        "signal": by if is_natural_number(by) and 0 < by < 65 else None,
        "ended": float(ended) if isinstance(ended, (int, float)) else float("inf"),
        "pid": pid if is_natural_number(pid) else 0,
    }


def is_natural_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def was_sigkilled(status, ranks):
    """Whether the launcher or a rank ended by SIGKILL."""
    codes = [parse_wait_status(status)[0]] + [rank["exit_code"] for rank in ranks]
    return 128 + signal.SIGKILL in codes


def first_failed(ranks):
    """The rank that failed before the launcher ended the others; None where all did well."""
    failed = [rank for rank in ranks if rank["exit_code"] != 0]
    return min(failed, key=lambda rank: rank["ended"]) if failed else None


def combine_exits(status, problem, ranks):
    """Exit code, signal, first failed rank and error: a rank's word counts only where it is a bad one."""
    worst = first_failed(ranks)
    exit_code, by = parse_wait_status(status)
    error = None
    if problem:
        exit_code, by = problem["exit_code"], None
        error = "exit.not_started" if exit_code is None else None
    elif worst:
        exit_code, by = worst["exit_code"], worst["signal"]
    return {
        "exit_code": exit_code,
        "signal": by,
        "launcher_exit_code": parse_wait_status(status)[0],
        "ranks": [{key: rank[key] for key in ("rank", "exit_code", "signal")} for rank in ranks],
        "first_failed_rank": worst["rank"] if worst else None,
        "error": error,
    }
