"""Answers a chunk of a job's log, by byte offset."""

from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import NotFound, Refused
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs.queries import JobAttempt
from portal.job_files.folders import control_path_parts, out_path_parts
from portal.job_files.logs import log_chunks
from portal.job_files.logs.line_counter import LineCounter
from portal.job_files.logs.log_times import LogTimesCache
from portal.live.requests import Answer, Request

MAX_OFFSET_DIGITS = 15


@dataclass(frozen=True)
class ChunkRequest:
    """`attempt` is None for the newest, `limit` and `offset` (negative: from the end) are bytes."""

    name: str
    offset: int
    limit: int
    attempt: int | None
    times_from: int | None = None
    """The byte from which the times of lines are wanted, or the chunk's first byte if that is later. None: no times."""


def parse_chunk_request(request: Request) -> ChunkRequest:
    """Raises Refused."""
    rank = request.query.get("rank") or "0"
    kind = request.query.get("stream") or log_chunks.KINDS[0]
    if kind not in log_chunks.KINDS:
        raise Refused("stream", "value.not_a_choice", allowed=sorted(log_chunks.KINDS))
    name = log_chunks.log_file_name(rank[:10], kind)
    if not log_chunks.is_log_file_name(name):
        raise Refused("rank", "value.not_a_whole_number", value=rank[:40])
    limit = request.id_param("limit")
    return ChunkRequest(
        name,
        parse_byte_offset(request.query.get("offset", "0")),
        log_chunks.CHUNK_BYTES if limit is None else limit,
        request.id_param("attempt"),
        parse_byte_offset(request.query["times"]) if "times" in request.query else None,
    )


def parse_byte_offset(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_OFFSET_DIGITS):
        raise Refused("offset", "value.not_a_whole_number", value=text[:40])
    return int(text)


def answer_chunk(
    root: Path, newest: JobAttempt, wanted: ChunkRequest, line_counter: LineCounter, log_times: LogTimesCache
) -> Answer:
    """Answers with at most 256 KiB of the file as it is. Raises NotFound for an attempt that does not exist.

    X-Log-Start and X-Log-Next are the place of the bytes. X-Log-EOF is 1 if the file ends there. X-Log-Line is the
    number of the first line if it is quick to count. Bytes that are not UTF-8 are replaced by the reader's decoder,
    because changed bytes would no longer fit their offsets. A file that is not plain counts as empty, and the page
    says so beside it.

    If times are wanted, X-Log-Times bytes come before the chunk: lines of a size and the second (Unix time) by which
    the file had grown to it.
    """
    number = newest.number if wanted.attempt is None else wanted.attempt
    if number > newest.number or wanted.attempt == 0:
        raise NotFound("attempt", number)
    folder = out_path_parts(newest.workspace_id, newest.job_id, number)
    line: int | None = 0
    try:
        with open_file_beneath(root, *folder, wanted.name) as file:
            chunk = log_chunks.read_log_chunk(file, wanted.offset, wanted.limit)
            line = line_counter.count_before(file, chunk.start)
    except (FileMissing, FileNotPlain):
        chunk = log_chunks.LogChunk(0, 0, 0, b"")
    headers = {
        "X-Log-Start": str(chunk.start),
        "X-Log-Next": str(chunk.next),
        "X-Log-EOF": "1" if chunk.is_end else "0",
    }
    if line is not None:
        headers["X-Log-Line"] = str(line + 1)
    times = b""
    if wanted.times_from is not None:
        control = control_path_parts(newest.workspace_id, newest.job_id, number)
        known = log_times.read(root, *control).of_file(wanted.name)
        entries = known.entries_within(min(max(0, wanted.times_from), chunk.start), chunk.next)
        times = b"".join(b"%d %d\n" % entry for entry in entries)
        headers["X-Log-Times"] = str(len(times))
    return Answer(body=times + chunk.data, headers=headers)
