"""Moves of the services' user: files, rows, sockets and messages of a portal that somebody has taken over."""

from tests.adversaries.moves import Moves

MOVES = Moves()
move = MOVES.move
