"""A stopped job is continued by another person: the checkpoint is copied and belongs to the new job's user."""

from cluster.domain.states import JobState
from cluster.services.jobs import continuations
from tests.builders import actor_of
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field

PROGRAM = """
import os, sys, time
import groundcrew_job
found = groundcrew_job.latest_checkpoint()
if found:
    status = os.stat(found["path"])
    assert status.st_uid == os.getuid() and status.st_mode & 0o077 == 0
    print("from epoch", found["epoch"], open(found["path"]).read())
    sys.exit(0)
path = os.path.join(groundcrew_job.checkpoints(), "epoch-0007.pt")
with open(path, "w") as file:
    file.write("weights")
os.symlink("/etc/hostname", os.path.join(groundcrew_job.checkpoints(), "epoch-0009.pt"))
groundcrew_job.save_checkpoint_note(7, 70, path)
time.sleep(600)
"""


def test_another_person_continues_a_stopped_job(field_: Field) -> None:
    field = field_
    field.start_scheduler()
    job = field.submit(PROGRAM)
    until(lambda: (field.out(job) / "checkpoints/epoch-0007.json").exists(), 60, "a checkpoint")
    field.stop(job)
    assert field.wait_for_end(job).state is JobState.STOPPED
    made = continuations.continue_job(field.cluster, actor_of(field.person), job.id)
    assert made.user_id != job.user_id
    field.cluster.events.publish("queue", made.id)
    assert field.wait_for_end(made).state is JobState.FINISHED, field.log(made, kind="stderr")
    assert field.log(made) == b"from epoch 7 weights\n"
    assert "job.continues" in field.events(made)
    copied = field.out(made).with_name("former")
    assert sorted(path.name for path in copied.iterdir()) == ["epoch-0007.json", "epoch-0007.pt"]
