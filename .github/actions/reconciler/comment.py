"""Keeps one comment on a pull request: `comment.py NUMBER FILE`. Nothing but the standard library.

The first line of a report is a hidden marker; the comment of ours that begins with the same one takes the new text.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = 100


def main(number: str, file: str) -> int:
    path = Path(file)
    if not path.is_file():
        print(f"{file} was not written, so there is nothing to comment")  # noqa: T201
        return 0
    if not number.isdecimal():
        print("this event belongs to no pull request, so there is nowhere to comment")  # noqa: T201
        return 0
    text = path.read_text(encoding="utf-8")
    marker = text.partition("\n")[0]
    try:
        _put(number, text, marker)
    except urllib.error.HTTPError as error:
        print(f"::error title=comment::GitHub said {error.code} {error.reason}; the job needs `pull-requests: write`")  # noqa: T201
        return 1
    return 0


def _put(number: str, text: str, marker: str) -> None:
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    there = next((one for one in _comments(f"{issues}/{number}/comments") if _is_ours(one, marker)), None)
    if there:
        _ask("PATCH", f"{issues}/comments/{there['id']}", {"body": text})
    else:
        _ask("POST", f"{issues}/{number}/comments", {"body": text})


def _is_ours(comment: dict[str, Any], marker: str) -> bool:
    """People may quote the marker; only a bot's comment that begins with it is replaced."""
    is_bot = (comment.get("user") or {}).get("type") == "Bot"
    return is_bot and str(comment.get("body", "")).partition("\n")[0].rstrip("\r") == marker


def _comments(path: str) -> Iterator[dict[str, Any]]:
    page = 1
    while found := _ask("GET", f"{path}?per_page={PAGE}&page={page}"):
        yield from found
        page += 1


def _ask(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
