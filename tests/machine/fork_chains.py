"""A program that leaves processes wherever it can: chains of forks whose members are gone before anybody looks."""

import os
import shutil
import subprocess
from pathlib import Path

LENT = "GROUNDCREW_TEST_BURST"
"""Names the program on a machine without a compiler."""

SOURCE = r"""
#include <unistd.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
/* Each one forks the next, which leaves its session, and is gone; at times one stays behind and sleeps. It ends by
 * itself after a while, so that a broken stop does not fill the machine. */
int main(void) {
  time_t until = time(NULL) + 60;
  setvbuf(stdout, NULL, _IONBF, 0);
  printf("bursting\n");
  for (int chain = 0; chain < 4; chain++) {
    if (fork() == 0) {
      for (int step = 0; time(NULL) < until; step++) {
        pid_t next = fork();
        if (next > 0) _exit(0);
        if (next == 0) {
          setsid();
          if (step % 500 == 0 && fork() == 0) { execlp("sleep", "sleep", "60", (char *)0); _exit(1); }
        }
      }
      _exit(0);
    }
  }
  for (;;) { if (time(NULL) >= until) return 0; sleep(1); while (waitpid(-1, NULL, WNOHANG) > 0) ; }
}
"""


def compile_burst(folder: Path) -> Path | None:
    """The program in this folder; None where there is no C compiler."""
    if os.environ.get(LENT):
        return Path(shutil.copy(os.environ[LENT], folder / "burst"))
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    (folder / "burst.c").write_text(SOURCE)
    subprocess.run([compiler, "-O1", "-o", folder / "burst", folder / "burst.c"], check=True)
    return folder / "burst"
