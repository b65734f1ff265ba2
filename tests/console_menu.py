"""The console's numbered menu in a terminal, as whoever sits there uses it: by titles."""

from tests.integration.pseudo_terminal import Terminal


def choose(console: Terminal, title: str) -> str:
    """By the number that stands before it in the menu, which is returned."""
    menu = console.expect("Number, or a letter:")
    (number,) = [line.split()[0] for line in menu.splitlines() if line[6:].startswith(title)]
    console.type(number)
    return menu


def leave(console: Terminal) -> None:
    console.type("q")
    assert console.process.wait(60) == 0
