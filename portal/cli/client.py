"""The HTTP client of the command: it ends the command with a message and an exit code when the server refuses."""

import os
import sys
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import click

from .config import Config
from .http_request import FileUpload, Response, send_file, send_request
from .messages import locale_language, message

EXIT_FAILED, EXIT_USAGE, EXIT_AUTH, EXIT_NOT_FOUND, EXIT_CONFLICT, EXIT_REFUSED, EXIT_TIMED_OUT = (
    1,
    2,
    3,
    4,
    5,
    6,
    124,
)
EXIT_OF_STATUS = {
    401: EXIT_AUTH,
    403: EXIT_AUTH,
    404: EXIT_NOT_FOUND,
    409: EXIT_CONFLICT,
    410: EXIT_NOT_FOUND,
    422: EXIT_REFUSED,
}
NO_ANSWER = "{url} does not answer: {reason}. Is it running, and is the address right?"


def exit_with(message: str, code: int = EXIT_FAILED) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)


def exit_unless_confirmed(question: str, is_confirmed: bool) -> None:
    """Asks the person, unless `--yes` has confirmed it already, and ends the command if the answer is no."""
    if not is_confirmed and not click.confirm(question):
        exit_with(message("Nothing was changed."), EXIT_USAGE)


class RestClient:
    """The client of `/api/v1` of one server. It raises nothing, but ends the command with a message."""

    def __init__(self, config: Config) -> None:
        if not config.url:
            exit_with(
                message("No server address. Run “groundcrew login”, or set GROUNDCREW_URL."), EXIT_USAGE
            )
        if not config.token:
            exit_with(message("No API token. Run “groundcrew login”, or set GROUNDCREW_TOKEN."), EXIT_AUTH)
        self.url = config.url
        self.ca_file = config.ca_file
        self.headers = {"Authorization": f"Bearer {config.token}", "Accept-Language": locale_language()}

    def get(self, path: str, /, **query: Any) -> Any:
        return self.request("GET", path, query).json()

    def post(self, path: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        """Posts with an Idempotency-Key, so that a repeated request has one effect."""
        return self.request("POST", path, query, body or {}).json()

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        return self.request("PATCH", path, None, body).json()

    def delete(self, path: str, **query: Any) -> None:
        self.request("DELETE", path, query)

    def download(self, path: str, query: dict[str, Any], sink: BinaryIO) -> None:
        """Writes the body into `sink` piece by piece."""
        self.request("GET", path, query, sink=sink)

    def request(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        sink: BinaryIO | None = None,
    ) -> Response:
        """Sends the request without those parameters of `query` that are None."""
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        headers = self.headers if body is None else self.headers | {"Idempotency-Key": os.urandom(16).hex()}
        try:
            answer = send_request(
                method, f"{self.url}/api/v1{path}", headers, asked, body, self.ca_file, sink
            )
        except (OSError, HTTPException, UnicodeError) as error:
            exit_with(message(NO_ANSWER, url=self.url, reason=error))
        return self.require_success(answer)

    def upload(self, path: str, fields: Mapping[str, str], field: str, file: Path) -> Any:
        """Posts a form with a file, and shows on a terminal how far it is."""
        with click.progressbar(
            length=file.stat().st_size, label=file.name, file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar:
            upload = FileUpload(fields, field, file, bar.update)
            try:
                answer = send_file(f"{self.url}/api/v1{path}", self.headers, upload, self.ca_file)
            except (OSError, HTTPException, UnicodeError) as error:
                exit_with(message(NO_ANSWER, url=self.url, reason=error))
        return self.require_success(answer).json()

    def require_success(self, answer: Response) -> Response:
        if 200 <= answer.status < 300:
            return answer
        if "json" not in answer.headers.get("Content-Type", ""):
            exit_with(
                message(
                    "{url} answered something that is not Groundcrew (status {status}).",
                    url=self.url,
                    status=answer.status,
                )
            )
        print_problem(answer.json())
        sys.exit(EXIT_OF_STATUS.get(answer.status, EXIT_FAILED))


def print_problem(problem: dict[str, Any]) -> None:
    """Prints the title, then a line for each field that has to change."""
    lines = [f"  {error['pointer'].lstrip('/')}: {error['message']}" for error in problem.get("errors", [])]
    head = problem.get("title") or problem.get("code", "")
    if not lines and problem.get("detail"):
        head = f"{head}: {problem['detail']}" if head else problem["detail"]
    for line in [head, *lines]:
        click.echo(line, err=True)
