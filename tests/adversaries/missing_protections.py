"""Text that takes a protection away where it is put below the product's own: the later definition counts.

Standard library alone: hosts read it too.
"""

ANY_USER = """

def check_job_ids(plan):
    pass
"""
"""The shim becomes whichever user its plan names."""
AS_ROOT = """

def copy_code_in_fork(plan, writer):
    try:
        with safe_files.open_folder_path(plan["code"]) as code, safe_files.open_folder_path(plan["out"]) as out:
            work = safe_files.make_folder(out, "work")
            safe_files.copy_tree(code, work, job_owner(plan))
            safe_files.set_owner_and_mode(work, 0o700, job_owner(plan))
        os._exit(0)
    except (OSError, ValueError) as error:
        os.write(writer, str(error).encode("utf-8", "replace"))
    finally:
        os._exit(1)
"""
"""The code is read with root's rights."""
ANY_NUMBER = """

def check_id_in_range(field, code, number, base):
    return number
"""
"""Any number of a row is a user or a group."""
DATASETS_BY_PATH = """

def hand_over_datasets(settings, folder, rights):
    for dataset in Path(os.readlink(f"/proc/self/fd/{folder}"), "datasets").iterdir():
        if dataset.is_dir() and dataset.stat().st_gid != rights.owner[1]:
            for root, names, files in os.walk(dataset, topdown=False):
                for path in (Path(root, name) for name in names + files):
                    if not path.is_symlink():
                        os.chown(path, *rights.owner)
                        path.chmod(0o2750 if path.is_dir() else 0o640)
            os.chown(dataset, *rights.owner)
"""
"""Root gives datasets away by path, and follows what it finds there."""
WHEELS_BY_PATH = """

def copy_cached_wheels(known, files):
    import shutil

    for wheel in known.glob("wheels-*/*.whl"):
        if wheel.is_file() and wheel.stat().st_size < 2**20:
            shutil.copy(wheel, files / wheel.name)


def delete_unpinned_files(files, sums):
    pass
"""
"""Packages of the services' cache are followed to wherever they lead."""
ANY_WHEEL = """

def delete_unpinned_files(files, sums):
    pass
"""
