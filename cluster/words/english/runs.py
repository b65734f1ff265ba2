"""English for jobs that are chosen together, their tags and notes, and saved views, by code."""

SENTENCES = {
    "job.none_chosen": "Choose at least one job.",
    "job.too_many_chosen": "{count:jobs} are too many at once. Choose {most} or fewer.",
    "job.too_many_tags": "A job has at most {most} tags. Remove one first.",
    "job.bad_tag": (
        "“{tag}” is not a valid tag. Use 1 to {most} letters, digits, hyphens, dots, colons, plus signs or "
        "underscores, and begin with a letter or a digit."
    ),
    "job.note_too_long": "The note has {length:number} characters. Use {most} or fewer.",
    "view.bad_name": "Give the view a name of 1 to {most} characters.",
    "view.too_many": "You have {most} saved views. Delete one first.",
    "view.too_long": "The search and the filters together are too long to be saved. Shorten the search.",
    "not_found.view": "There is no such saved view.",
}
TITLES = {
    "view": "This view cannot be saved",
    "finding": "What it says",
}
WORDS = {
    "action.job.tagged": "Job tagged",
    "action.job.noted": "Job's note written",
}
