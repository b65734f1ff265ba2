"""A changed file or setting makes another release, whose services are started again."""

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.startup import code_fingerprint


def test_a_changed_file_or_setting_is_another_release(places: InstallationPaths) -> None:
    seen = {code_fingerprint(places)}
    assert code_fingerprint(places) in seen
    (places.clone / "portal" / "page.html").write_text("a")
    seen.add(code_fingerprint(places))
    (places.clone / "portal" / "page.html").write_text("b")
    seen.add(code_fingerprint(places))
    places.settings_file.write_text("GROUNDCREW_PORT=8471\n")
    seen.add(code_fingerprint(places))
    assert len(seen) == 4
