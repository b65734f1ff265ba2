"""What REST says of an environment."""

from tests.builders import an_environment
from tests.pages.portal.rest_lab import Lab

PATH = "/api/v1/environments"


def test_an_environment_says_what_is_in_it_and_who_may_choose_it(lab: Lab) -> None:
    contents = [["python", "3.11.2", ""], ["tensorflow-cpu", "2.18", ""]]
    made = an_environment(lab.cluster, "tf-2.18", [lab.workspace], contents=contents)
    shown = lab.client.get(f"{PATH}/{made.id}", headers=lab.headers()).json
    assert [part["version"] for part in shown["contents"]] == ["3.11.2", "2.18"]
    assert shown["workspaces"] == [{"id": lab.workspace.id, "name": lab.workspace.name}]
    assert (shown["operation_id"], shown["error"], shown["base_id"]) == (None, None, None)


def test_the_list_says_less_than_the_page_of_one(lab: Lab) -> None:
    an_environment(lab.cluster, "tf-2.18", [lab.workspace])
    items = lab.client.get(PATH, headers=lab.headers()).json["items"]
    (listed,) = [item for item in items if item["name"] == "tf-2.18"]
    assert listed["use"] == {"trainings": 0, "jobs": 0}
    assert not {"contents", "requirements", "pins"} & set(listed)
