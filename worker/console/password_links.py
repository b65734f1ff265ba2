"""Issue a password link for an administrator who cannot sign in."""

from cluster.domain.people.actor import Actor
from cluster.domain.states import UserState
from cluster.portal_paths import one_time_link
from cluster.services.context import Cluster
from cluster.services.people.first_administrator import issue_first_administrator_secret
from cluster.services.people.passwords import LINK_TERM, issue_password_link
from cluster.services.people.users import list_users
from cluster.store.users import User
from worker.console.prompt import ask_for_line, console_text, parse_choice, print_console_text, print_line


def offer_password_link(cluster: Cluster, actor: Actor) -> None:
    """Raises Conflict if the account has been disabled in between."""
    people = list_active_administrators(cluster, actor)
    if not people:
        offer_first_secret(cluster)
        return
    for number, user in enumerate(people, 1):
        print_line(f"  {number}  {user.name}  {user.full_name}".rstrip())
    chosen = parse_choice(
        ask_for_line(console_text("Whose password is forgotten? Number, or nothing:")) or "", len(people)
    )
    if chosen is None:
        return
    user = people[chosen - 1]
    secret = issue_password_link(cluster, actor, user.id)
    print_console_text("Open this address once, within {hours} hours, and choose a new password for {name}:",
        hours=int(LINK_TERM.total_seconds() // 3600), name=user.name)  # fmt: skip
    print_line(f"  {cluster.settings.public_url}{one_time_link(secret)}")
    print_console_text(
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
        print_console_text("There is no administrator yet.")
        print_console_text(
            "  First administrator:   {url}/first-administrator", url=cluster.settings.public_url
        )
        print_console_text(
            "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)", secret=secret
        )
