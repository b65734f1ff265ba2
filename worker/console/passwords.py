"""The way back in for an administrator who has forgotten the password, where nobody else could make the link."""

from cluster.domain.people import Actor
from cluster.domain.states import UserState
from cluster.services.context import Cluster
from cluster.services.passwords import LINK_TERM
from cluster.services.users import issue_first_administrator_secret, issue_link, list_users
from cluster.store.users import User
from worker.console.terminal import answer, line, read_number, say, text


def help_in(cluster: Cluster, actor: Actor) -> None:
    """Raises Conflict where the account was disabled meanwhile."""
    people = administrators(cluster, actor)
    if not people:
        offer_first_secret(cluster)
        return
    for number, user in enumerate(people, 1):
        line(f"  {number}  {user.name}  {user.full_name}".rstrip())
    chosen = read_number(answer(text("Whose password is forgotten? Number, or nothing:")) or "", len(people))
    if chosen is None:
        return
    user = people[chosen - 1]
    secret = issue_link(cluster, actor, user.id)
    say("Open this address once, within {hours} hours, and choose a new password for {name}:",
        hours=int(LINK_TERM.total_seconds() // 3600), name=user.name)  # fmt: skip
    line(f"  {cluster.settings.public_url}/link/{secret}")
    say(
        "Until then the old password goes on. The access log names who asked: {login}, at the console.",
        login=actor.name,
    )


def administrators(cluster: Cluster, actor: Actor) -> list[User]:
    return [
        user
        for user in list_users(cluster, actor)
        if user.is_administrator and user.state is UserState.ACTIVE
    ]


def offer_first_secret(cluster: Cluster) -> None:
    secret = issue_first_administrator_secret(cluster)
    if secret is not None:
        say("There is no administrator yet.")
        say("  First administrator:   {url}/first-administrator", url=cluster.settings.public_url)
        say(
            "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)", secret=secret
        )
