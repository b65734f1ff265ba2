"""English for datasets and archives, by code."""

SENTENCES = {
    "dataset.digits_not_written": "The sample digits could not be written: {line}",
    "dataset.path_not_absolute": "Enter a full path under {roots:list}.",
    "dataset.path_outside_roots": "“{path}” lies outside the folders for datasets: {roots:list}.",
    "dataset.path_is_ours": (
        "“{path}” is a folder of this installation, or contains one. Move the data to a folder of its own."
    ),
    "dataset.path_leads_elsewhere": (
        "“{path}” now leads to “{folder}”. Delete the dataset and register the folder where the data is."
    ),
    "dataset.path_missing": "There is no folder “{path}” on this machine. Check the path.",
    "dataset.in_use": (
        "{jobs:plural|1 living job reads|# living jobs read} {name}. Stop them or wait for their end, then "
        "delete it."
    ),
    "dataset.not_ready": "Dataset {name} is not ready, so it has no files to look at.",
    "dataset.not_failed_at_names": "Dataset {name} did not fail at a file name.",
    "dataset.name_in_use": (
        "Another dataset has the name {name} by now. Delete it, or upload the archive under another name."
    ),
    "dataset.no_space": "The storage is full: {free:bytes} are free.",
    "archive.unknown_kind": "“{name}” is no archive that can be unpacked. Use one of {endings:list}.",
    "archive.over_limit": (
        "The file has {size:bytes}; at most {limit:bytes} can be uploaded. Register a folder on this server instead."
    ),
    "archive.unreadable": (
        "“{name}” is damaged or not what its ending says. Pack it again and upload it once more."
    ),
    "archive.encrypted": "“{entry}” is encrypted. Pack it without a password.",
    "archive.empty": "There is no file in the archive. Put some in and upload it again.",
    "archive.absolute": "“{entry}” is an absolute path. Pack the folder by its own name and upload it again.",
    "archive.outside": "“{entry}” points outside the archive. Pack it again without “..”.",
    "archive.backslash": "“{entry}” has a backslash in its name. Pack it again with names without one.",
    "archive.link": "“{entry}” is a link. Pack the file itself instead of links to it.",
    "archive.device": "“{entry}” is a device, a pipe or a socket. Only files and folders can be uploaded.",
    "archive.setuid": "“{entry}” carries setuid or setgid rights. Take them away and pack it again.",
    "archive.twice": "“{entry}” stands in the archive twice. Keep one of them.",
    "archive.case_twin": "“{entry}” differs from another entry only in capital letters. Rename one of them.",
    "archive.latin_twin": "“{entry}” would get the same Latin name as another entry. Rename one of them.",
    "archive.file_and_folder": "“{entry}” is a file and a folder at once. Rename one of them.",
    "archive.bad_names": "{count:number} names in the archive cannot be used, among them {names:list}.",
    "archive.too_deep": "“{entry}” lies more than {most} folders deep. Use fewer folders.",
    "archive.too_many_files": "The archive has more than {most:number} files. Split it.",
    "archive.too_large": (
        "Unpacked, the archive is larger than {most:bytes}. Split it, or register a path on shared storage."
    ),
    "archive.too_dense": (
        "The archive unpacks to more than {ratio} times its size, as archives that fill disks do. Pack it "
        "with less compression."
    ),
    "archive.header_too_large": (
        "“{entry}” carries a name or other facts of more than {most:bytes}. Pack it again with shorter names and "
        "without extended attributes."
    ),
    "archive.sparse": (
        "“{entry}” is packed as a file with holes, and its list of holes is not read. Pack it again without "
        "tar's --sparse."
    ),
    "archive.zip_too_many": (
        "The zip archive lists {count:number} entries or more, or names too long for so many: at most {most:number} "
        "can be read. Pack it as .tar.gz, which may have a million."
    ),
    "archive.too_much_memory": (
        "Unpacking “{name}” would take more than {most:bytes} of memory. Pack it again as .zip, or as .tar.gz with "
        "ordinary compression."
    ),
    "archive.size_lies": "“{entry}” unpacks to more than the archive says. Pack it again.",
    "archive.unreadable.unnamed": "The archive is damaged. Pack it again and upload it once more.",
}

TITLES = {
    "dataset": "The dataset cannot be used like this",
    "archive": "The archive was refused as a whole; nothing of it was kept",
}

WORDS = {
    "state.dataset.preparing": "Preparing",
    "state.dataset.ready": "Ready",
    "state.dataset.failed": "Failed",
    "kind.dataset.upload": "Uploaded",
    "kind.dataset.path": "Path on this machine",
    "kind.dataset.sample": "Sample",
}
