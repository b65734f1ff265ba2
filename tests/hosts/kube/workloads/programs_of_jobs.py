"""Programs that the tests submit as code of their own."""

SLEEPS = """
import time
print("up", flush=True)
time.sleep({seconds})
print("done", flush=True)
"""

SAVES = """
import json, os, time
import groundcrew_job
folder = os.path.join(os.environ["GROUNDCREW_OUT"], "checkpoints")
former = os.environ.get("GROUNDCREW_RESUME")
names = [name for name in os.listdir(former) if name.endswith(".h5")] if former else []
begin = max([int(name[6:10]) for name in names] or [0])
print("goes on from epoch", begin, flush=True)
os.makedirs(folder, exist_ok=True)
for epoch in range(begin + 1, {epochs} + 1):
    time.sleep(1)
    name = "epoch-%04d.weights.h5" % epoch
    if groundcrew_job.rank() == 0 and os.environ.get("GROUNDCREW_INDEX", "0") == "0":
        open(os.path.join(folder, name), "w").write("weights")
        note = {{"epoch": epoch, "step": epoch, "scalars": {{}}, "time": time.time()}}
        with open(os.path.join(folder, name + ".json.new"), "w") as file:
            json.dump(note, file)
        os.rename(os.path.join(folder, name + ".json.new"), os.path.join(folder, name + ".json"))
        groundcrew_job.log(step=epoch, epoch=epoch, loss=1.0 / epoch)
print("done", flush=True)
"""
"""A checkpoint each second, from which a later attempt goes on."""
