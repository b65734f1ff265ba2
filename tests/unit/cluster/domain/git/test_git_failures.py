"""What git, curl and ssh say, and which reason a person reads."""

import pytest

from cluster.domain.git.git_failures import clean_line, explain_git_failure


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", "git.not_authorised"),
        ("fatal: Authentication failed for 'https://h/n/'", "git.not_authorised"),
        ("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", "git.not_authorised"),
        ("fatal: unable to access 'u': The requested URL returned error: 403", "git.not_authorised"),
        ("fatal: repository 'https://h/n/' not found", "git.repository_missing"),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", "git.repository_missing"),
        ("fatal: unable to access 'u': The requested URL returned error: 302", "git.redirected"),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", "git.host_key_changed"),
        ("fatal: unable to access 'u': SSL certificate problem: self-signed certificate", "git.certificate"),
        ("fatal: unable to access 'u': server certificate verification failed.", "git.certificate"),
        ("fatal: unable to access 'u': Failed to connect to h port 443", "git.unreachable"),
        ("fatal: unable to access 'u': GnuTLS recv error (-110): not terminated", "git.unreachable"),
        ("fatal: couldn't find remote ref refs/heads/x", "git.reference_missing"),
        ("fatal: remote error: upload-pack: not our ref aaaa", "git.reference_missing"),
        ("error: object 1: hasDotgit: contains '.git'\nfatal: fsck error in packed object\n"
         "fatal: fetch-pack: invalid index-pack output", "git.unsafe_repository"),
        ("fatal: fetch-pack: invalid index-pack output", "git.too_large"),
        ("fatal: write error: File too large", "git.too_large"),
        ("fatal: unable to access 'u': Operation too slow", "git.too_slow"),
        ("fatal: something else", "git.failed"),
        ("", "git.failed"),
    ],
)  # fmt: skip
def test_each_failure_has_its_cause(words: str, code: str) -> None:
    error = explain_git_failure(words, host="h", reference="main")
    assert (error.code, error.data["host"]) == (code, "h")


def test_what_the_server_says_is_left_out() -> None:
    error = explain_git_failure("remote: \x1b]52;c;x\x07 Repository not found\nfatal: broken\x1b[31m")
    assert (error.code, error.data["line"]) == ("git.failed", "fatal: broken [31m")
    assert clean_line("a\x1b]8;;b\tc") == "a ]8;;b c"
