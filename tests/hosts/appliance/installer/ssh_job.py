"""Makes a person with a key and an own job on an installed host, or stops the job: as root, by the services' own code.

Copied there beside `tests/builders.py` and called with `submit` and a file with the public key, which prints the number
of the job, or with `stop` and that number.
"""

import os
import sys
from pathlib import Path

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import Launcher, TrainingKind
from cluster.services.context import Cluster
from cluster.services.jobs.stop_requests import stop_job
from cluster.services.jobs.submission import submit_job
from cluster.services.people.ssh_keys import add_ssh_key
from cluster.settings import Settings
from cluster.store.jobs import Job
from tests.builders import a_code_version, a_training, a_user, a_workspace, actor_of
from worker.composition import open_cluster

PROGRAM = (
    b"import time\nprint('ready', flush=True)\nopen('kept.txt', 'w').write('of the job')\ntime.sleep(3600)\n"
)


def submit(cluster: Cluster, public_key: str) -> int:
    mark = os.urandom(3).hex()
    person = a_user(cluster, f"ssh-{mark}")
    workspace = a_workspace(cluster, person, units=1, name=f"ssh-{mark}")
    training = a_training(cluster, workspace, person, "waits", TrainingKind.ADVANCED)
    a_code_version(cluster, training, [("train.py", PROGRAM)])
    add_ssh_key(cluster, actor_of(person), "laptop", public_key)
    request = JobRequest(name="", units=1, launcher=Launcher.PLAIN, command=("train.py",))
    return submit_job(cluster, actor_of(person), training.id, request).id


def main(words: list[str]) -> None:
    cluster = open_cluster(Settings.from_environment())
    if words[0] == "submit":
        print(submit(cluster, Path(words[1]).read_text()))
        return
    with cluster.store.read() as session:
        actor = actor_of(session.get_one(Job, int(words[1])).user)
    stop_job(cluster, actor, int(words[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
