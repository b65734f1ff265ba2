"""English for environments: requirements files and why they are refused, builds and their steps, by code."""

SENTENCES = {
    "environment.requirements_empty": "Write at least one package, such as torch==2.7.1, one on each line.",
    "environment.requirements_too_large": "The file is larger than {most:bytes}. Leave only the packages in it.",
    "environment.requirements_not_text": (
        "The file is no text, or larger than {most:bytes}. Upload a requirements file, such as requirements.txt."
    ),
    "environment.scope_missing": "Choose the workspaces that may use it.",
    "environment.sources_need_root": (
        "Packages are built from source only where the task workers run as root, which gives their rights away for it. "
        "Choose versions that have wheels."
    ),
    "environment.requirements_too_many_lines": "The file has more than {most} lines. Leave only the packages in it.",
    "environment.requirements_too_many": "{count} packages are too many: at most {most} are possible.",
    "environment.line_too_long": "Line {line} has more than {most} characters. Each line names one package.",
    "environment.line_editable": (
        "Line {line} installs a folder for editing ({text}), which is not on this machine. Upload your own code to a "
        "training, and name only packages here."
    ),
    "environment.line_other_file": (
        "Line {line} names another file ({text}), which is not here. Copy its lines into this one."
    ),
    "environment.line_index": (
        "Line {line} names a package index ({text}). Administrators set the index of this site; leave the line out."
    ),
    "environment.line_option": "Line {line} is an option ({text}). Each line names one package; leave it out.",
    "environment.line_variable": (
        "Line {line} has a variable ({text}), and variables are not filled in here. Write the value."
    ),
    "environment.line_repository": (
        "Line {line} installs from a repository ({text}). Only packages of the index are installed: name the package "
        "and its version."
    ),
    "environment.line_path": (
        "Line {line} names a file ({text}), which is not on this machine. Name the package and its version; an "
        "administrator can put the wheel into the site's folder."
    ),
    "environment.line_address": (
        "Line {line} installs from an address ({text}). Only packages of the index are installed: name the package and "
        "its version."
    ),
    "environment.line_unreadable": (
        "Line {line} is no package: {text}. Write a name and, if you like, a version, as numpy==2.1.3."
    ),
    "environment.hash_differs": "{package} in line {line} has none of the hashes that the line names.",
    "environment.package_missing": "The index has no package {package} (line {line}). Check how it is spelled.",
    "environment.package_missing.indirect": "The index has no package {package}, which another package needs: {said}",
    "environment.version_missing": "The index does not have this version of {package} (line {line}: {text}). {said}",
    "environment.version_missing.indirect": "The index has no version of {package} that another package needs: {said}",
    "environment.needs_source": (
        "The index has {package} (line {line}) only as source, or not for this machine. Allow packages to be built "
        "from source, or choose a version that has a wheel."
    ),
    "environment.needs_source.indirect": (
        "{package}, which another package needs, is in the index only as source, or not for this machine. Allow "
        "packages to be built from source, or choose other versions."
    ),
    "environment.no_wheel_here": (
        "The index has {package} (line {line}) not for this machine and this Python. {said}"
    ),
    "environment.no_wheel_here.indirect": (
        "{package}, which another package needs, is in the index not for this machine and this Python. {said}"
    ),
    "environment.source_build_failed": "{package} (line {line}) could not be built from source. {said}",
    "environment.source_build_failed.indirect": (
        "{package}, which another package needs, could not be built from source. {said}"
    ),
    "environment.no_solution": "No versions fit together: {said}",
    "environment.wheel_name": (
        "{name} is no name of a wheel. Upload files as pip download writes them, as numpy-2.1.3-cp311-….whl."
    ),
    "environment.wheel_unreadable": "{name} is damaged, or no wheel. Download it again.",
    "environment.wheels_missing": "Choose at least one wheel.",
    "environment.too_slow": "The build took longer than {seconds:duration} and was ended.",
    "environment.too_large": "The build has written more than {most:bytes} and was ended.",
    "environment.not_ended": "Processes of the build could not be ended. An administrator ends those of user {uid}.",
    "environment.strange_file": "The build left a file that does not belong into an environment: {path}.",
    "environment.cancelled": "{user} has cancelled the build.",
    "environment.python_missing": "There is no Python {version} on the machine that builds. It has {there:list}.",
    "environment.python_unreadable": "Write a version of Python as 3.11.",
    "environment.python_too_old": (
        "Python {version} is too old: what runs inside a job needs Python {least} or newer."
    ),
    "environment.in_images": (
        "Jobs here run in container images, so that environments are not built from requirements. The list shows the "
        "images."
    ),
    "environment.protected": "{name} comes with the installation. Nobody changes or deletes it here.",
    "environment.was_deleted": "The environment {name} was deleted.",
    "environment.being_built": "The environment {name} is being built. Cancel the build, or wait for its end.",
    "notification.environment_asked": (
        "{person} asks for the environment {name} in {workspace}, with {packages:plural|one package|# packages}"
    ),
    "environment.not_approved": "The environment {name} waits for the approval of a manager. Approve it first.",
    "environment.not_requested": "Nobody waits for an approval of {name} any more.",
    "environment.base_gone": (
        "The environment on which this one is built is gone ({folder}). Build that one again, or ask for a new one "
        "from a notebook."
    ),
    "environment.not_being_built": "The environment {name} is not being built.",
    "environment.jobs_use_it": "{jobs:jobs} of {name} have not ended. Wait for their end before you build it again.",
    "environment.in_use": (
        "{name} is in use by {trainings:trainings} and {jobs:jobs} that have not ended: {users:list}. Let them choose "
        "another environment first."
    ),
    "environment.used_in_workspaces": (
        "{name} is in use in {workspaces:list}. Leave these workspaces in, or let their trainings choose another "
        "environment first."
    ),
    "job.environment_unknown": "There is no environment {id} that this workspace may choose.",
    "job.environment_deleted": "The environment {name} was deleted. Choose another one.",
    "job.environment_elsewhere": "No job of this installation can run in {name}. Choose another environment.",
    "job.environment_not_approved": "The environment {name} waits for the approval of a manager. Choose another one.",
    "job.environment_failed": "The environment {name} could not be built. Choose another one, or build it again.",
    "job.environment_python_too_old": (
        "The environment {name} has Python {version}: what runs inside a job needs Python {least} or newer. Choose "
        "another one."
    ),
    "job.environment_lacks": (
        "The built-in model {model} needs {libraries:list}, which the environment {name} does not have. Choose another "
        "one."
    ),
    "job.horovod_missing": (
        "The environment {environment} has no Horovod, so that this launcher starts only if the code brings it along."
    ),
    "start.environment_gone": (
        "The files of the environment {name} are gone. Build it again on its page, then run the job again."
    ),
    "forbidden.environment.create": "Only {allowed:words relation} may add an environment here.",
    "not_found.wheel": "This wheel was deleted already, or was never uploaded.",
    "forbidden.environment.approve": "Only {allowed:words relation} may approve or decline this environment.",
    "forbidden.environment.edit": "Only {allowed:words relation} may change this environment.",
    "forbidden.environment.delete": "Only {allowed:words relation} may delete this environment.",
    "gpu_check.in_pods": "Jobs run in pods here: what the default image computes, a job on the node's GPUs shows.",
    "gpu_check.no_environment": "The training environment is not ready, so that nothing can compute on the GPUs.",
    "gpu_check.failed": "A GPU does not compute what the CPU does: {problem:why}",
    "environment.no_space.needed": "{needed:bytes} are needed where {path} lies, and {free:bytes} are free.",
}

HINTS = {
    "gpu_check.in_pods": (
        "Submit a job on all units of the node; what verify saw of its GPUs stands at the end of site.yml."
    ),
    "gpu_check.no_environment": (
        "Wait until it is built, or run the repair that restores the default training environment."
    ),
    "gpu_check.failed": "Look at dmesg for Xid lines. Then drain the node, and run the repair that resets its GPUs.",
}

TITLES = {"gpu_check": "Multiplying on the GPUs"}

WORDS = {
    "operation.environment.install": "Build an environment",
    "operation.environment.delete": "Delete an environment",
    "action.environment.added": "Environment added",
    "action.environment.requested": "Environment asked for",
    "action.environment.approved": "Environment approved",
    "action.environment.declined": "Environment declined",
    "action.environment.changed": "Environment changed",
    "action.environment.rebuilt": "Environment built again",
    "action.environment.build_cancelled": "Build of an environment cancelled",
    "action.environment.wheels_added": "Wheels uploaded",
    "action.environment.wheel_deleted": "Wheel deleted",
    "action.environment.deleted": "Environment deleted",
    "notification.kind.environment_asked": "Somebody asks for an environment in a workspace that I manage",
    "source.environment.default": "Comes with the installation",
    "source.environment.requirements": "From a requirements file",
    "source.environment.notebook": "From packages of a notebook",
    "source.environment.image": "Container image",
    "gpu_support.yes": "Computes with CUDA",
    "gpu_support.no": "Computes on CPUs",
    "gpu_support.unknown": "Not recorded",
    "gpu_code.own": "Machine code",
    "gpu_code.by_ptx": "Compiled by the driver (PTX)",
    "gpu_code.none": "None",
    "step.resolve": "Choose versions",
    "step.wait": "Wait for another build on this machine",
    "step.check_tools": "Check tools and disk space",
    "step.download": "Download packages",
    "step.install": "Install packages",
    "step.compile_horovod": "Compile Horovod",
    "step.verify": "Try it as a job would",
    "step.contents": "Write the table of contents",
}
