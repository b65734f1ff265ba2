"""The rules of code from git: valid sources, the part of a commit that becomes code, and why a fetch failed."""
