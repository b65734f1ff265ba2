"""English for sweeps: requests, and the reasons for which one was stopped, by code."""

SENTENCES = {
    "sweep.no_values": "Name at least one parameter with its values, such as lr = 0.1, 0.01.",
    "sweep.too_many_parameters": "{count} parameters are too many: at most {most} may have values.",
    "sweep.most_at_once_range": "Use {least} to {most:number} jobs at once, or leave it empty.",
    "sweep.variable_twice": "{name} has one value and a list of values. Keep one of them.",
    "sweep.value_missing": "{name} has no value. Write one or more, separated by commas or lines.",
    "sweep.value_too_long": "A value of {name} is longer than {most} characters. Put it into a file.",
    "sweep.value_twice": "{value} stands twice among the values of {name}. Keep it once.",
    "sweep.row_twice": "The values of row {row} have stood together before. Change one of them.",
    "sweep.bad_value": (
        "A value of {name} has a character that cannot be typed or is no text ({codepoint}). Remove it."
    ),
    "sweep.bad_parameter": (
        "{name} is no name of a parameter. Use letters, digits, _ and -, beginning with a letter."
    ),
    "sweep.quote_open": "A quotation mark among the values of {name} is not closed. Add the missing one.",
    "sweep.bad_range": (
        "{range} is no range for {name}: write the smaller number first, at most {most:number} numbers."
    ),
    "sweep.lists_differ": (
        "{name} has {count:number} values and {other} has {other_count:number}. Row by row, all need the "
        "same number, or one value that holds for all."
    ),
    "sweep.too_many_jobs": (
        "{jobs:number} jobs are too many: a sweep makes at most {most:number}. Leave out values."
    ),
    "sweep.too_large": "The commands of all jobs are longer than {most:bytes} together. Put long values into a file.",
    "sweep.placeholder_unknown": "{{{name}}} stays as it is: no parameter is called {name}.",
    "sweep.has_ended": "sweep-{id} has ended already.",
    "sweep.bad_line": "“{line}” is no list of values. Write it as lr = 0.1, 0.01.",
    "sweep.stop_not_allowed": (
        "Only {user}, the training's owner, the workspace's manager and administrators may stop this sweep."
    ),
    "sweep.crash": "job-{job_id} failed.",
    "sweep.nan": "The loss of job-{job_id} became NaN or infinite.",
    "sweep.stopped_by": "{by} stopped it.",
    "exit.stopped_with_sweep": "Stopped while it waited, with sweep-{sweep_id}: {cause:code}",
    "job.stopped_with_sweep": "Its sweep-{sweep_id} was stopped: {cause:code}",
    "finding.always_best": "{name} {value} is the best with every combination of the others.",
    "finding.faster": "{name} {value} is {share:percent} faster than {other} and nearly as good.",
    "finding.nan_at": "{name} {value}: the loss of {jobs:jobs} was NaN.",
    "finding.nan": "The loss of {jobs:jobs} was NaN.",
    "not_found.sweep": "There is no such sweep, or you may not see it.",
    "forbidden.sweep.stop": "Only {allowed:words relation} may stop this sweep.",
}

TITLES = {
    "sweep": "The sweep cannot be made like this",
    "sweep.has_ended": "The sweep has ended",
}

WORDS = {
    "action.sweep.submitted": "Sweep submitted",
    "action.sweep.stop_requested": "Sweep stop requested",
    "sweep.kind.grid": "all combinations",
    "sweep.kind.list": "row by row",
}
