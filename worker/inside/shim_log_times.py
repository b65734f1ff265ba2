"""Records when the log files of an attempt grew, so that a page can show times beside their lines.

Programs write their logs themselves, without times (shim_rank.py). Once a second the sizes are read, and for each file
that has grown one line goes to control/log_times: `<Unix seconds> <file> <size>`. Everything before that size was
written by then. A kill leaves at most one line without its end.
"""

import os
import stat
import time
from typing import Dict, List

import shim_files

FILE = "log_times"
LOOK_SECONDS = 1.0
MOST_RANKS = 32
"""The ranks whose files are watched, so that a look takes well below a millisecond."""
LARGEST_FILE = 256 * 1024
"""The bytes after which every second entry of the older part is dropped: old times become coarser."""
KEPT_NEW = 0.25
"""The share of the lines that keeps its precision then."""


class LogTimes:
    """The times of one attempt's logs. It never fails: without times the job runs all the same."""

    def __init__(self, control: str, out: str, ranks: int) -> None:
        self.path = os.path.join(control, FILE)
        self.out = out
        sources = ["launcher"] + ["rank-%d" % rank for rank in range(min(ranks, MOST_RANKS))]
        self.names = ["%s.%s" % (source, stream) for source in sources for stream in ("stdout", "stderr")]
        self.sizes: Dict[str, int] = {}
        self.looked_at = 0.0
        self.written = 0

    def look(self, is_last: bool = False) -> None:
        """Writes down what has grown since the last look, at most once a second."""
        if not is_last and time.monotonic() - self.looked_at < LOOK_SECONDS:
            return
        self.looked_at = time.monotonic()
        grown = self.read_grown()
        if grown:
            now = time.time()
            try:
                self.append("".join("%.1f %s %d\n" % (now, name, size) for name, size in grown.items()))
            except OSError:
                return  # A full disk must not end the training; the next look tries again.
            self.sizes.update(grown)

    def read_grown(self) -> Dict[str, int]:
        """The sizes that differ from the last ones. The program may have put anything into the folder."""
        try:
            folder = os.open(self.out, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return {}
        grown = {}
        try:
            for name in self.names:
                try:
                    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(facts.st_mode) and facts.st_size != self.sizes.get(name, 0):
                    grown[name] = facts.st_size
        finally:
            os.close(folder)
        return grown

    def append(self, text: str) -> None:
        """Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o644)
        try:
            shim_files.write_fully(descriptor, text.encode())
            self.written = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if self.written > LARGEST_FILE:
            self.thin_out()

    def thin_out(self) -> None:
        """Replaces the file by a smaller one. Raises OSError."""
        control, name = os.path.split(self.path)
        content = shim_files.read_untrusted_file(control, name, most_bytes=2 * LARGEST_FILE)
        if content is None:
            os.unlink(self.path)
            return
        shim_files.write_text_atomically(self.path, "".join(thinned(content.decode("ascii", "replace"))))


def thinned(text: str) -> List[str]:
    """The lines without every second entry of each file in the older part."""
    lines = [line for line in text.splitlines(True) if line.endswith("\n") and len(line.split()) == 3]
    newest = len(lines) - int(len(lines) * KEPT_NEW)
    kept: List[str] = []
    seen: Dict[str, int] = {}
    for line in lines[:newest]:
        name = line.split()[1]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] % 2 == 0:
            kept.append(line)
    return kept + lines[newest:]
