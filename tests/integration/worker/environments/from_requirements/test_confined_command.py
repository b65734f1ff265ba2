"""A build script has no rights: it is nobody's user in the sandbox of jobs."""

from tests.integration.worker.environments.from_requirements.build_lab import IDS, Lab, only_as_root
from tests.integration.worker.environments.from_requirements.package_folder import add_source, read_found

HOSTILE = """
import subprocess, stat
def attempt(name, act):
    try:
        found[name] = str(act())
    except Exception as error:
        found[name] = type(error).__name__
attempt("uid", os.getuid)
attempt("groups", os.getgroups)
attempt("secret", lambda: open({secret!r}).read())
attempt("log", lambda: open({log!r}, "a"))
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("system", lambda: open("/usr/bin/planted", "w"))
attempt("home", lambda: open("/root/planted", "w"))
attempt("root", lambda: os.setuid(0))
attempt("mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "x", "/mnt"], check=True, capture_output=True))
processes = [name for name in os.listdir("/proc") if name.isdigit()]
attempt("others", lambda: [name for name in processes if os.stat("/proc/" + name).st_uid != os.getuid()])
attempt("variables", lambda: [name for name in os.environ if "GROUNDCREW_" in name and name != "GROUNDCREW_BUILD"])
"""


@only_as_root
def test_a_build_script_has_no_rights(lab: Lab) -> None:
    script = HOSTILE.format(secret=str(lab.state / "secret"), log=str(lab.log))
    add_source(lab.packages, "hostile", "1.0", script)
    lab.build("hostile\n", builds_sources=True)
    assert IDS is not None
    found = read_found(lab.target, "hostile")
    assert found.pop("secret") in ("FileNotFoundError", "PermissionError")
    assert found.pop("log") in ("FileNotFoundError", "PermissionError", "OSError")
    assert found.pop("system") in ("OSError", "PermissionError")
    assert found == {
        "uid": str(IDS.uid),
        "groups": "[]",
        "shadow": "PermissionError",
        "home": "PermissionError",
        "root": "PermissionError",
        "mount": "CalledProcessError",
        "others": "[]",
        "variables": "[]",
    }
