"""Fingerprints of server keys as ssh prints them."""

from portal.presenters.code.git_source_panel import fingerprint_of, short_commit


def test_a_fingerprint_is_that_of_the_noted_key() -> None:
    line = "git.lab.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    assert fingerprint_of(f"# note\n{line}\n") == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
    assert fingerprint_of("") == fingerprint_of("a b") == fingerprint_of("a b %%%") == ""
    assert short_commit("0123456789abcdef") == "0123456789"
