"""English for how a job ended, by code."""

SENTENCES = {
    "exit.finished": "Completed, exit code 0.",
    "exit.error": "The program ended with an error, exit code 1.",
    "exit.wrong_usage": "Exit code 2: the program did not understand its arguments.",
    "exit.not_executable": "Exit code 126: the file was found but cannot be executed.",
    "exit.command_not_found": "Exit code 127: command or path not found.",
    "exit.interrupt_key": "Exit code 130: interrupted as by Ctrl+C.",
    "exit.aborted": "Exit code 134: the program aborted itself (SIGABRT).",
    "exit.killed": "Exit code 137: killed from outside (SIGKILL), not by Groundcrew.",
    "exit.out_of_memory": "Out of memory: the kernel ended the program at {max_rss_bytes:bytes}.",
    "exit.out_of_memory.limit": "Out of memory: the job used its limit of {memory_limit_bytes:bytes}.",
    "exit.out_of_memory.unknown": "Out of memory: the kernel ended the program.",
    "exit.process_limit": (
        "Too many processes: the job reached its limit of {process_limit:number} processes and threads."
    ),
    "exit.segmentation_fault": "Exit code 139: the program touched memory that is not its own (SIGSEGV).",
    "exit.terminated": "Exit code 143: asked to end from outside (SIGTERM), not by Groundcrew.",
    "exit.file_too_large": "Exit code {exit_code}: a file grew beyond the allowed size (SIGXFSZ).",
    "exit.signal": "Exit code {exit_code}: ended by the signal {signal_name}.",
    "exit.other": "The program ended with exit code {exit_code}, whose meaning only the program knows.",
    "exit.timed_out": "Stopped at the time limit.",
    "exit.stopped": "Stopped on request.",
    "exit.stopped.by": "Stopped by {by}.",
    "exit.stopped_while_waiting": "Stopped by {by} while it waited; nothing had started.",
    "exit.stopped_before_start": "Stopped before anything had started.",
    "exit.not_started": "It could not be started on the node.",
    "exit.not_started.cause": "It could not be started. {cause:code}",
    "exit.lost": "Its end was not recorded: the process that watched it disappeared.",
    "exit.restored": "It ran when {name} was made at {at:clock}; what became of it since is not known.",
    "exit.interrupted_each_time": (
        "{in_a_row} attempts in a row were interrupted as soon as they began, the last on {node}: {cause:code} "
        "It is not tried again."
    ),
    "exit.disk_filled": "It filled the disk {mount}: it had written {bytes:bytes}, and was ended for that.",
    "exit.truth_unreadable": "The record of its end cannot be read, so it counts as failed.",
    "exit.truth_foreign": "The record of its end belongs to another attempt, so it counts as failed.",
    "exit.executor_disagrees": (
        "Exit code {exit_code} by its own record and {executor_exit_code} by what ran it: the two "
        "contradict each other, so it counts as failed."
    ),
    "exit.left_behind": (
        "{left_behind:plural|One process that it had left running was|# processes that it had left running "
        "were} ended."
    ),
    "exit.not_finite": "Its {not_finite} became NaN or infinite.",
    "exit.rank": "Rank {rank} was the first to fail.",
}

HINTS = {
    "exit.error": "The last lines of stderr say what went wrong.",
    "exit.wrong_usage": "Compare the command with what the program's --help says.",
    "exit.not_executable": (
        "Begin the file with #! and the path of its interpreter, or name the interpreter in the command."
    ),
    "exit.command_not_found": (
        "Check the spelling of the file name and that it was uploaded; paths are looked up in the folder "
        "of the code."
    ),
    "exit.aborted": "A library found an error that it could not go on with; see the last lines of stderr.",
    "exit.killed": (
        "The usual reason is too little memory. Try a smaller batch size, or ask an administrator for the "
        "kernel's log."
    ),
    "exit.out_of_memory": "Use a smaller batch size, load less data at once, or ask for more units.",
    "exit.process_limit": (
        "Use fewer workers or threads (num_workers, OMP_NUM_THREADS), or ask for more units. A program that starts "
        "itself again and again ends like this too."
    ),
    "exit.segmentation_fault": (
        "Mostly a compiled extension that does not fit its library; compare the versions with the "
        "environment's."
    ),
    "exit.timed_out": "Duplicate the job with a longer limit.",
    "exit.not_started": "Duplicate the job to try again; the node's log has the reason.",
    "exit.not_started.cause": "Once that is mended, duplicate the job to try again.",
    "exit.executor_disagrees": (
        "Either the program has written that record itself, or something outside ended it in its last moment."
    ),
    "exit.restored": "The database was put back from that backup. Duplicate the job to try again.",
    "exit.interrupted_each_time": (
        "Its program is not to blame: an administrator has to look at the node. Duplicate the job to try again."
    ),
    "exit.disk_filled": (
        "Write fewer or smaller files: keep only the last checkpoints, and do not copy the dataset. Delete the "
        "files of this job to make room."
    ),
    "exit.lost": "It was killed from outside, or the disk was full. Duplicate the job to try again.",
}

TITLES = {
    "exit": "How it ended",
}
