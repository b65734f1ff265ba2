"""Create, change, copy and remove files relative to open folders, so that no link is followed (openat(2)).

A path is resolved again at each call, and the owner of one of its folders may put a link there in between. Here a
folder is opened once, component by component, and each entry below it is named by that descriptor and one plain name.
The shim has a copy beside it, so this module uses the standard library only and parses as Python 3.6. A returned
descriptor belongs to the caller.
"""

import errno
import os
import stat
from contextlib import contextmanager
from typing import Dict, Iterator, List, Optional, Sequence, Tuple, Union

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PASS_THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""The flags for a folder that this process may enter but not list."""
# Without O_NONBLOCK, opening a named pipe without a writer would wait for ever.
FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DEEPEST = 64
"""The largest number of nested folders that are open at once. No tree of ours is as deep."""
MAX_ENTRIES = 10000000
"""The largest number of entries in a tree that is copied or whose owner is changed."""
MAX_LINKS = 40
"""The largest number of links in one path, which is also the kernel's."""
MAX_PASSES = 20000
"""The largest number of passes over a tree that is removed. Each pass removes 64 levels of it."""
CHUNK_SIZE = 1024 * 1024
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

Owner = Tuple[int, int]
"""The uid and the gid. -1 leaves either as it is."""


class UnsafeFile(OSError):
    """The file is not what we would have created: a link, a second name, another owner, or a
    tree that is too deep.
    """


def unsafe_file(name: str, why: str) -> UnsafeFile:
    return UnsafeFile(errno.EPERM, why, name)


def check_name(name: str) -> str:
    """Checks that the name is one path component. Raises UnsafeFile."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise unsafe_file(name, "no plain name")
    return name


def open_folder_at(name: str, parent: Optional[int] = None, flags: int = FOLDER) -> int:
    """Opens `name` below the descriptor `parent`, or an absolute path whose last component is no link.

    Raises FileNotFoundError, and UnsafeFile for a link or a file.
    """
    if parent is not None:
        check_name(name)
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise unsafe_file(name, "a link or a file stands where a folder should") from error
        raise


@contextmanager
def open_folder_path(root: Union[str, "os.PathLike[str]"], *names: str) -> Iterator[int]:
    """The descriptor of `root/names…`. Only `root` itself may be or contain links, because
    the administrator made it.
    """
    current = os.open(os.fspath(root), (PASS_THROUGH if names else FOLDER) & ~os.O_NOFOLLOW)
    try:
        for number, name in enumerate(names, 1):
            parent = current
            current = open_folder_at(name, parent, FOLDER if number == len(names) else PASS_THROUGH)
            os.close(parent)
        yield current
    finally:
        os.close(current)


def make_folder(parent: int, name: str, mode: int = 0o700) -> int:
    """Raises FileExistsError, so that a folder of somebody else is never taken for ours.

    Without root the umask may restrict the mode: a chmod would clear the setgid bit, which only root could set again.
    """
    os.mkdir(check_name(name), mode & 0o777, dir_fd=parent)
    made = open_folder_at(name, parent)
    try:
        status = os.fstat(made)
        if status.st_uid != os.geteuid():
            raise unsafe_file(name, "somebody else's folder stands where ours was made")
        if os.geteuid() == 0 or status.st_mode & 0o777 & ~mode:
            set_owner_and_mode(made, mode)
    except OSError:
        os.close(made)
        raise
    return made


def ensure_folder(parent: int, name: str, mode: int, owner: Owner = (-1, -1)) -> int:
    """Ensures that the folder exists with this owner and mode. Raises UnsafeFile for a link or a file."""
    try:
        opened = open_folder_at(name, parent)
    except FileNotFoundError:
        try:
            opened = make_folder(parent, name, mode)
        except FileExistsError:
            # Another thread or process of ours created it at the same time.
            opened = open_folder_at(name, parent)
    try:
        set_owner_and_mode(opened, mode, owner)
    except OSError:
        os.close(opened)
        raise
    return opened


def set_owner_and_mode(descriptor: int, mode: int, owner: Owner = (-1, -1)) -> None:
    """Sets the owner and mode of an open file. Right values are not written again.

    The owner is set first, because a former owner cannot change the mode. Without root a folder keeps its setgid bit,
    which its owner may not be allowed to set again.
    """
    status = os.fstat(descriptor)
    user, group = owner
    if (user not in (-1, status.st_uid)) or (group not in (-1, status.st_gid)):
        os.fchown(descriptor, user, group)
    compared = 0o7777 if os.geteuid() == 0 else 0o777
    if (os.fstat(descriptor).st_mode ^ mode) & compared:
        os.fchmod(descriptor, mode)


def set_owner_of_socket(parent: int, name: str, owner: Owner) -> None:
    """Sets the owner of a unix socket, which cannot be opened as a file. Its mode stays. Raises UnsafeFile."""
    way = os.open(check_name(name), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if not stat.S_ISSOCK(os.fstat(way).st_mode):
            raise unsafe_file(name, "no socket")
        os.chown("/proc/self/fd/%d" % way, *owner)
    finally:
        os.close(way)


def open_plain_at(parent: int, name: str, flags: int = os.O_RDONLY) -> int:
    """Opens a regular file with one name, because a second name may belong to a file elsewhere. Raises UnsafeFile."""
    try:
        opened = os.open(check_name(name), flags | FILE, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise unsafe_file(name, "no regular file") from error
        raise
    status = os.fstat(opened)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(opened)
        raise unsafe_file(name, "no regular file with one name")
    return opened


def check_owner(descriptor: int, name: str, users: Sequence[int]) -> None:
    """Checks that the file belongs to one of these users and only its owner may write it. Raises UnsafeFile."""
    status = os.fstat(descriptor)
    if status.st_uid not in users:
        raise unsafe_file(name, "it belongs to user %d" % status.st_uid)
    if status.st_mode & WRITABLE_BY_OTHERS:
        raise unsafe_file(name, "others than its owner may write it")


def read_all(descriptor: int, most: int) -> bytes:
    """Raises UnsafeFile for more than `most` bytes."""
    content = b""
    while len(content) <= most:
        piece = os.read(descriptor, CHUNK_SIZE)
        if not piece:
            return content
        content += piece
    raise unsafe_file("", "more than %d bytes" % most)


def replace_file(parent: int, name: str, content: bytes, mode: int = 0o600, owner: Owner = (-1, -1)) -> None:
    """Replaces the file atomically and never writes into an existing one. It is not synced."""
    check_name(name)
    unfinished = ".%s.%s.new" % (name, os.urandom(8).hex())
    descriptor = os.open(unfinished, NEW_FILE, 0o600, dir_fd=parent)
    try:
        try:
            write_fully(descriptor, content)
            set_owner_and_mode(descriptor, mode, owner)
        finally:
            os.close(descriptor)
        os.rename(unfinished, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        remove_name(parent, unfinished)
        raise


def create_synced_file(parent: int, name: str, content: bytes) -> None:
    """Creates a file whose content survives a power failure. Raises FileExistsError."""
    descriptor = os.open(check_name(name), NEW_FILE, 0o600, dir_fd=parent)
    try:
        write_fully(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_fully(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def remove_name(parent: int, name: str) -> bool:
    """Removes the name of a file or a link, not the link's target. Returns False if there is none."""
    try:
        os.unlink(check_name(name), dir_fd=parent)
    except FileNotFoundError:
        return False
    return True


def move_at(source: int, name: str, target: int, new_name: str) -> None:
    """Moves an entry between open folders. Raises OSError if the new name is a folder that is not empty."""
    os.rename(check_name(name), check_name(new_name), src_dir_fd=source, dst_dir_fd=target)


def list_names(descriptor: int) -> List[str]:
    """The names in an open folder."""
    return os.listdir(descriptor)


def kind_at(parent: int, name: str) -> int:
    """stat.S_IFDIR, stat.S_IFREG … of the entry, without following a link. 0 if there is none."""
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def size_at(parent: int, name: str) -> int:
    """The bytes of a regular file. -1 if there is none."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return -1
    return status.st_size if stat.S_ISREG(status.st_mode) else -1


def copy_tree(source: int, target: int, owner: Owner = (-1, -1)) -> int:
    """Copies folders and regular files with one name into the empty folder `target`. Returns their number.

    Only the owner has rights on copies, which are executable if the file was. The caller sets the owner of `target`
    itself afterwards. Raises UnsafeFile if the tree is too deep or has too many entries.
    """
    return _TreeCopy(owner).copy(source, target, 0)


class _TreeCopy:
    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.entries = 0

    def copy(self, source: int, target: int, depth: int) -> int:
        for name in os.listdir(source):
            kind = kind_at(source, name)
            if kind in (stat.S_IFDIR, stat.S_IFREG):
                self.entries += 1
                check_tree_size(name, depth, self.entries)
                (self.copy_folder if kind == stat.S_IFDIR else self.copy_file)(source, target, name, depth)
        return self.entries

    def copy_folder(self, source: int, target: int, name: str, depth: int) -> None:
        inner = open_folder_at(name, source)
        try:
            made = make_folder(target, name)
            try:
                self.copy(inner, made, depth + 1)
                set_owner_and_mode(made, 0o700, self.owner)
            finally:
                os.close(made)
        finally:
            os.close(inner)

    def copy_file(self, source: int, target: int, name: str, depth: int) -> None:
        try:
            reader = open_plain_at(source, name)
        except UnsafeFile:
            return  # In between the file has become a link or got a second name.
        try:
            is_program = os.fstat(reader).st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            copy_content(reader, name, target, 0o700 if is_program else 0o600, self.owner)
        finally:
            os.close(reader)


def link_or_copy_file(source: int, name: str, target: int, mode: int) -> bool:
    """Puts a regular file into another folder: as a hard link if it is ours and stays so, else as a copy.

    Returns False if it is a link, has other names and is not ours, or belongs to another user than its folder.
    """
    try:
        reader = os.open(check_name(name), os.O_RDONLY | FILE, dir_fd=source)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return False
        raise
    try:
        status = os.fstat(reader)
        owner = status.st_uid
        is_alone = status.st_nlink == 1 or owner == os.geteuid()
        if not (stat.S_ISREG(status.st_mode) and is_alone and owner == os.fstat(source).st_uid):
            return False
        if owner == os.geteuid():
            try:
                os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                return True
            except OSError:
                pass  # The two folders are on different file systems.
        copy_content(reader, name, target, mode)
        return True
    finally:
        os.close(reader)


def copy_content(
    reader: int, name: str, target: int, mode: int, owner: Owner = (-1, -1), most: Optional[int] = None
) -> None:
    """Copies at most `most` bytes; None: until the file ends."""
    writer = os.open(check_name(name), NEW_FILE, 0o600, dir_fd=target)
    try:
        left = most
        while left is None or left > 0:
            piece = os.read(reader, CHUNK_SIZE if left is None else min(CHUNK_SIZE, left))
            if not piece:
                break
            write_fully(writer, piece)
            left = None if left is None else left - len(piece)
        set_owner_and_mode(writer, mode, owner)
    finally:
        os.close(writer)


def check_tree_size(name: str, depth: int, entries: int) -> None:
    if depth >= DEEPEST:
        raise unsafe_file(name, "more than %d folders within each other" % DEEPEST)
    if entries > MAX_ENTRIES:
        raise unsafe_file(name, "more than %d entries" % MAX_ENTRIES)


def chown_tree(
    descriptor: int, owner: Owner, folder_mode: int, file_mode: int, of_users: Optional[Sequence[int]] = None
) -> int:
    """Changes the owner of folders and regular files with one name, the folder itself last. Returns their number.

    Only entries that now belong to one of `of_users` change; None: entries of any user. Links, pipes, devices, files
    with a second name and entries that disappear are left alone. Raises UnsafeFile if the tree is too deep.
    """
    return _OwnerChange(owner, folder_mode, file_mode, of_users).give(descriptor, 0)


class _OwnerChange:
    def __init__(
        self, owner: Owner, folder_mode: int, file_mode: int, of_users: Optional[Sequence[int]]
    ) -> None:
        self.owner = owner
        self.modes: Dict[int, int] = {stat.S_IFDIR: folder_mode, stat.S_IFREG: file_mode}
        self.of_users = of_users
        self.entries = 0

    def give(self, descriptor: int, depth: int) -> int:
        if not self.is_to_give(descriptor):
            return self.entries
        for name in os.listdir(descriptor):
            kind = kind_at(descriptor, name)
            if kind in self.modes:
                self.entries += 1
                check_tree_size(name, depth, self.entries)
                self.give_entry(descriptor, name, kind, depth)
        set_owner_and_mode(descriptor, self.modes[stat.S_IFDIR], self.owner)
        return self.entries

    def give_entry(self, parent: int, name: str, kind: int, depth: int) -> None:
        try:
            opened = open_folder_at(name, parent) if kind == stat.S_IFDIR else open_plain_at(parent, name)
        except (FileNotFoundError, UnsafeFile):
            return
        try:
            if kind == stat.S_IFDIR:
                self.give(opened, depth + 1)
            elif self.is_to_give(opened):
                set_owner_and_mode(opened, self.modes[kind], self.owner)
        finally:
            os.close(opened)

    def is_to_give(self, descriptor: int) -> bool:
        return self.of_users is None or os.fstat(descriptor).st_uid in self.of_users


def remove_tree(parent: int, name: str) -> bool:
    """Removes the entry with everything in it. Returns False if there is none.

    The tree may have any depth, and others may write in it meanwhile: as root this process first becomes the owner of
    each folder, so that nobody can add entries. File systems that are mounted in it are left alone. Raises OSError.
    """
    try:
        top = open_folder_to_empty(parent, name)
    except FileNotFoundError:
        return False
    except UnsafeFile:
        return remove_name(parent, name)
    try:
        _TreeRemoval(top).empty(top, 0)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)
    return True


class _TreeRemoval:
    def __init__(self, top: int) -> None:
        self.top = top
        self.mount = mount_id_of(top)
        self.passes = 0

    def empty(self, descriptor: int, depth: int) -> None:
        while True:
            names = os.listdir(descriptor)
            if not names:
                return
            self.passes += depth == 0
            if self.passes > MAX_PASSES:
                raise OSError(errno.ENOTEMPTY, "somebody else writes into it again and again")
            left = [name for name in names if not self.remove(descriptor, name, depth)]
            if left and depth:
                raise OSError(errno.ENOTEMPTY, "it is not empty yet", left[0])

    def remove(self, parent: int, name: str, depth: int) -> bool:
        """Returns False if the entry changed in between and has to be read again."""
        try:
            os.unlink(name, dir_fd=parent)
            return True
        except FileNotFoundError:
            return True
        except IsADirectoryError:
            pass
        try:
            if depth >= DEEPEST:
                # The folder is too deep to be opened. It is moved up and removed with a later pass.
                os.rename(name, ".%s.deep" % os.urandom(8).hex(), src_dir_fd=parent, dst_dir_fd=self.top)
                return True
            self.remove_folder(parent, name, depth)
        except (FileNotFoundError, UnsafeFile):
            return False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return False
        return True

    def remove_folder(self, parent: int, name: str, depth: int) -> None:
        opened = open_folder_to_empty(parent, name)
        try:
            if mount_id_of(opened) != self.mount:
                raise OSError(errno.EBUSY, "another file system is mounted there", name)
            self.empty(opened, depth + 1)
        finally:
            os.close(opened)
        os.rmdir(name, dir_fd=parent)


def open_folder_to_empty(parent: int, name: str) -> int:
    """Opens a folder and, if possible, makes it accessible to us only. Raises UnsafeFile, FileNotFoundError."""
    try:
        opened = open_folder_at(name, parent)
    except PermissionError:
        way = open_folder_at(name, parent, PASS_THROUGH)
        try:
            # The program has removed its own rights on the folder, which belongs to us. This path leads to exactly
            # the open folder.
            os.chmod("/proc/self/fd/%d" % way, 0o700)
            return open_folder_at(name, parent)
        finally:
            os.close(way)
    status = os.fstat(opened)
    try:
        if os.geteuid() == 0:
            set_owner_and_mode(opened, 0o700, (0, 0))
        elif status.st_uid == os.geteuid():
            set_owner_and_mode(opened, 0o700)
    except OSError:
        os.close(opened)
        raise
    return opened


def mount_id_of(descriptor: int) -> int:
    """The id of the mount in which the file is. A folder that is mounted a second time has another one."""
    with open("/proc/self/fdinfo/%d" % descriptor) as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "mnt_id":
                return int(value)
    return -1


def find_replaceable_part(path: Union[str, "os.PathLike[str]"]) -> Optional[str]:
    """The topmost part of this absolute path that other users than root and this one could replace. None if there is
    none.

    If folders are missing, the folders above them count. In a sticky folder users can replace only their own entries.
    """
    current = "/"
    parts: List[str] = ["", *os.fspath(path).split("/")]
    links = 0
    while parts:
        part = parts.pop(0)
        current = os.path.normpath(os.path.join(current, part))
        try:
            status = os.stat(current, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if status.st_uid not in (0, os.geteuid()):
            return current
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MAX_LINKS:
                return current
            target = os.readlink(current)
            current = "/" if target.startswith("/") else os.path.dirname(current)
            parts = [*target.split("/"), *parts]
        elif status.st_mode & WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
            return current
    return None
