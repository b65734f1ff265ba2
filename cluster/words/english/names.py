"""English for names that people give, by code."""

SENTENCES = {
    "name.missing": "A name is needed: {least} to {most} of a–z, 0–9 and hyphen.",
    "name.bad_character": "{codepoint:seen} at position {position} is not allowed here.{repaired:offer}",
    "name.too_short": "Too short with {length:characters}: use at least {least}.",
    "name.too_long": "Too long with {length:characters}: use at most {most}.",
    "name.hyphen_first": "A name does not begin with a hyphen.{repaired:offer}",
    "name.hyphen_last": "A name does not end with a hyphen.{repaired:offer}",
    "name.hyphen_doubled": "Two hyphens in a row are not allowed.{repaired:offer}",
    "name.reserved": "“{name}” is kept for the system. Choose another name.",
    "name.taken": "“{name}” is taken. Choose another name.",
    "text.too_long": "{length:characters} are too many: use at most {most}.",
    "text.bad_character": "{codepoint:seen} cannot stand in this text. Remove it.",
    "phrase.offer": "You could use “{repaired}”.",
    "phrase.seen": "“{character}” ({codepoint})",
    "phrase.space": "A space",
    "phrase.unseen": "The invisible character {codepoint} ({called})",
    "file.no_name": "“{file}” is no file name. Give the file a name.",
    "file.space": "“{file}” has a space in its name.{repaired:offer}",
    "file.bad_character": "“{file}” has {codepoint:seen} in its name, which is not allowed.{repaired:offer}",
    "file.unseen_character": (
        "“{file}” has the invisible character {codepoint} ({called}) in its name.{repaired:offer}"
    ),
    "file.hangul": (
        "“{file}” has the Hangul letter “{character}” in its name; this installation takes Latin letters "
        "only.{repaired:offer}"
    ),
    "file.not_ascii": (
        "“{file}” has {codepoint:seen} in its name; this installation takes plain Latin letters "
        "only.{repaired:offer}"
    ),
    "file.too_long": "The name “{file}” has {bytes} bytes; at most {most} are possible. Shorten it.",
    "file.absolute": "“{file}” begins with a slash. Only paths inside the folder are possible.",
    "file.path_too_long": "The path “{file}” is longer than {most} bytes. Use shorter folder names.",
    "file.missing": "There is no file {name} (yet).",
    "file.not_plain": "{name} is no plain file, so it is not opened.",
    "value.missing": "Required.",
    "value.too_long": "Longer than {longest:number} characters. Shorten it.",
    "value.control_character": "An invisible control character is in here. Type the value again.",
    "value.not_a_choice": "Choose one of {allowed:list}.",
    "value.not_a_duration": "“{value}” is no length of time. Write it as 90m, 2h or 1d.",
    "value.not_a_size": "“{value}” is no size. Write it as 12GiB or 800MiB; a bare number is GiB.",
    "value.unknown_field": "“{name}” is no field of this form. Leave it out.",
    "value.not_a_whole_number": "“{value}” is not a whole number. Write digits, such as 2.",
    "value.not_a_day": "“{value}” is no date. Write it as 2026-11-20.",
}

TITLES = {
    "name": "This name cannot be used",
    "text": "This text cannot be used",
    "file": "This file name cannot be used",
    "value": "This value cannot be used",
}
