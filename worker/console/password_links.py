"""Issue a password link for an administrator who cannot sign in."""

from cluster.domain.people.actor import Actor
from cluster.domain.states import UserState
from cluster.portal_paths import one_time_link
from cluster.services.context import Cluster
from cluster.services.people.first_administrator import issue_first_administrator_secret
from cluster.services.people.passwords import LINK_TERM, issue_password_link
from cluster.services.people.users import list_users
from cluster.store.users import User
from worker.console.prompt import ask_for_line, parse_choice, print_line, print_sentence, terminal_text


def offer_password_link(cluster: Cluster, actor: Actor) -> None:
    """Raises Conflict where the account was disabled meanwhile."""
    people = list_active_administrators(cluster, actor)
    if not people:
        offer_first_secret(cluster)
        return
    for number, user in enumerate(people, 1):
        print_line(f"  {number}  {user.name}  {user.full_name}".rstrip())
    chosen = parse_choice(
        ask_for_line(terminal_text("Whose password is forgotten? Number, or nothing:")) or "", len(people)
    )
    if chosen is None:
        return
    user = people[chosen - 1]
    secret = issue_password_link(cluster, actor, user.id)
    print_sentence("Open this address once, within {hours} hours, and choose a new password for {name}:",
        hours=int(LINK_TERM.total_seconds() // 3600), name=user.name)  # fmt: skip
    print_line(f"  {cluster.settings.public_url}{one_time_link(secret)}")
    print_sentence(
        "Until then the old password goes on. The access log names who asked: {login}, at the console.",
        login=actor.name,
    )


def list_active_administrators(cluster: Cluster, actor: Actor) -> list[User]:
    return [
        user
        for user in list_users(cluster, actor)
        if user.is_administrator and user.state is UserState.ACTIVE
    ]


def offer_first_secret(cluster: Cluster) -> None:
    secret = issue_first_administrator_secret(cluster)
    if secret is not None:
        print_sentence("There is no administrator yet.")
        print_sentence("  First administrator:   {url}/first-administrator", url=cluster.settings.public_url)
        print_sentence(
            "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)", secret=secret
        )
