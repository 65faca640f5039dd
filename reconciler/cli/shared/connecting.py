"""How every command that talks to a server learns which one: by the `nats` CLI's flags, and `--dev`."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from reconciler.cli.shared import common
from reconciler.cli.shared.screen import doing, tell
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, SourceSpan, located_at

if TYPE_CHECKING:
    from reconciler.cli.shared.value_option import Values
    from reconciler.server.connect.options import ConnectOptions
    from reconciler.server.connect.settings import Settings
    from reconciler.server.wire.api import JetStream


T = TypeVar("T")
_ELSEWHERE = ("NATS_URL", "NATS_CONTEXT")
"""Variables that name another server: what the files say of an environment is not overruled by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The connection flags; nothing is dialled or read before they are used."""

    settings: Settings
    dev: bool
    place: Settings | None = None
    """Where the environment of the files is, which no command line needs to repeat."""
    place_span: SourceSpan | None = None
    """Where the files say so."""

    @property
    def is_chosen(self) -> bool:
        """Whether an option, a variable or the selected context names a server. Otherwise it is the one on this
        machine."""
        from reconciler.server.connect.options import is_chosen  # noqa: PLC0415 - only who asks pays for it

        return self.dev or self.place is not None or is_chosen(self.settings, os.environ)

    @property
    def is_named(self) -> bool:
        """Whether the command line itself names a server."""
        return bool(self.dev or self.settings.context or self.settings.url)

    def for_environment(self, values: Values, paths: Sequence[Path]) -> Connection:
        """Return the connection to the environment that the files declare, unless options say another place. Raises
        CannotContinue where there is no such environment."""
        from reconciler.documents.fill.environments import environments_in  # noqa: PLC0415 - only where there are any
        from reconciler.server.connect.settings import Settings  # noqa: PLC0415

        settings = self.settings
        if values.environment is None or self.dev or settings.context or settings.url or settings.no_context:
            return self
        tree = values.tree()
        environment = environments_in(paths, tree).get(values.environment)
        if environment is None:
            from reconciler.journeys.plan.files import read_topology  # noqa: PLC0415

            read_topology(paths, tree)
            return self
        context, server = environment.says.context, environment.says.server
        if not (context or server):
            return self
        place = Settings(context=context, url=server, no_context=None if context else True)
        return replace(self, place=place, place_span=environment.way)

    def options(self) -> ConnectOptions:
        """Return where and how to dial. With --dev, this starts the embedded server of this folder unless it already
        runs."""
        return replace(self._options(), repeated=self.repeated)

    @property
    def repeated(self) -> str:
        """What a command that reads no files repeats of these options."""
        return self.arguments(without_files=True)

    def _options(self) -> ConnectOptions:
        from reconciler.server.connect.options import ConnectOptions, resolve  # noqa: PLC0415 - only who connects pays for it

        if not self.dev:
            if self.place is None:
                return resolve(self.settings, os.environ)
            with located_at(self.place_span):
                resolve(self.place, {name: value for name, value in os.environ.items() if not name.startswith("NATS_")})
            settings = replace(self.settings, context=self.place.context, url=self.place.url)
            return resolve(settings, {name: value for name, value in os.environ.items() if name not in _ELSEWHERE})
        from reconciler.testbed import embedded  # noqa: PLC0415

        running = embedded.attach(Path.cwd())
        if running.started:
            tell(f"Started the embedded server {running.url}; it runs until `reconciler dev stop`.\n")
        return ConnectOptions.to(running.url)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[JetStream]:
        """Connect to JetStream of the account for the time of the `async with`."""
        from reconciler.server.connect.connection import session  # noqa: PLC0415

        options = self.options()
        with doing("reading the account …"):
            async with session(options) as js:
                yield js

    def ask(self, work: Callable[[JetStream], Awaitable[T]]) -> T:
        """Connect, and return what `work` finds out about the account. Commands that its errors name connect likewise."""

        async def connected() -> T:
            async with self.open() as js:
                return await work(js)

        with self.adding_connection_to_errors():
            return result_of(connected())

    @contextmanager
    def adding_connection_to_errors(self) -> Iterator[None]:
        """Let the commands that errors name connect as this one does."""
        from reconciler.report.words.commands import findings_with_connection  # noqa: PLC0415 - only who fails pays for it

        try:
            yield
        except CannotContinue as problem:
            problem.diagnostics = findings_with_connection(problem.diagnostics, self.repeated)
            raise

    def arguments(
        self, *others: str, options: Iterable[tuple[str, Iterable[str]]] = (), without_files: bool = False
    ) -> str:
        """Return what to repeat in a next command line: paths, selection and connection, with `…` in place of every
        secret. `without_files`, the command does not read where an environment is."""
        parts = [*others, *(part for name, values in options for value in values for part in (name, value))]
        settings = self.settings
        if without_files and self.place:
            settings = replace(settings, context=self.place.context, url=self.place.url)
        return " ".join(shlex.quote(part) for part in (*parts, *self._repeated_arguments(settings)))

    def _repeated_arguments(self, settings: Settings) -> list[str]:
        from reconciler.server.connect.settings import HIDDEN, shown_path, shown_servers  # noqa: PLC0415

        if self.dev:
            return ["--dev"]
        has_password = bool(settings.password or os.environ.get("NATS_PASSWORD"))
        pairs = (
            ("--context", settings.context), ("--server", shown_servers(settings.url)),
            ("--creds", shown_path(settings.creds)), ("--nkey", shown_path(settings.nkey)),
            ("--user", settings.user and (settings.user if has_password else HIDDEN)),  # alone it is a token
            ("--password", settings.password and HIDDEN), ("--token", settings.token and HIDDEN),
            ("--tlscert", settings.cert), ("--tlskey", settings.key), ("--tlsca", settings.ca),
            ("--js-domain", settings.js_domain), ("--js-api-prefix", settings.js_api_prefix),
            ("--inbox-prefix", settings.inbox_prefix), ("--timeout", settings.timeout),
        )  # fmt: skip
        flags = (("--tlsfirst", settings.tls_first), ("--no-context", settings.no_context))
        options = [part for name, value in pairs if value for part in (name, value)]
        return [*options, *(name for name, is_given in flags if is_given)]


def result_of(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own, and return its result. The main task has none: asyncio writes out the whole
    of it when it restores the signal handlers."""
    import asyncio  # noqa: PLC0415 - only who connects pays for it

    results = list[T]()

    async def run() -> None:
        results.append(await work)

    asyncio.run(run())
    return results[0]


def connection(
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Context of the nats CLI. [NATS_CONTEXT]")
    ] = None,
    no_context: Annotated[
        bool, typer.Option("--no-context", help="Use no context, not even the selected one.")
    ] = False,
    server: Annotated[
        str | None,
        typer.Option("--server", "-s", metavar="URL", help="URLs of the servers, separated by commas. [NATS_URL]"),
    ] = None,
    creds: Annotated[
        str | None, typer.Option("--creds", metavar="FILE", help="File with credentials. [NATS_CREDS]")
    ] = None,
    nkey: Annotated[
        str | None, typer.Option("--nkey", metavar="FILE", help="File with an NKey seed. [NATS_NKEY]")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Name of the user, or a token. [NATS_USER]")
    ] = None,
    password: Annotated[
        str | None, typer.Option("--password", metavar="TEXT", help="Password of the user. [NATS_PASSWORD]")
    ] = None,
    token: Annotated[str | None, typer.Option("--token", metavar="TEXT", help="Token. [NATS_TOKEN]")] = None,
    tlscert: Annotated[
        str | None, typer.Option("--tlscert", metavar="FILE", help="Certificate of the client. [NATS_CERT]")
    ] = None,
    tlskey: Annotated[
        str | None, typer.Option("--tlskey", metavar="FILE", help="Key of that certificate. [NATS_KEY]")
    ] = None,
    tlsca: Annotated[
        str | None, typer.Option("--tlsca", metavar="FILE", help="Certificate authority to trust. [NATS_CA]")
    ] = None,
    tlsfirst: Annotated[
        bool, typer.Option("--tlsfirst", "--tls-first", help="Do the TLS handshake before the server says anything.")
    ] = False,
    js_domain: Annotated[
        str | None, typer.Option("--js-domain", metavar="NAME", help="JetStream domain to work in.")
    ] = None,
    js_api_prefix: Annotated[
        str | None,
        typer.Option("--js-api-prefix", metavar="SUBJECT", help="Subject prefix of an imported JetStream API."),
    ] = None,
    inbox_prefix: Annotated[
        str | None, typer.Option("--inbox-prefix", metavar="SUBJECT", help="Prefix of reply subjects.")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="How long to wait for the connection, and for each answer. [5s] [NATS_TIMEOUT]",
        ),
    ] = None,
    dev: Annotated[bool, typer.Option("--dev", help="Use this folder's own embedded server.")] = False,
) -> Connection:
    """Declare these options once for all commands; square brackets hold the default, and the variable with the same
    meaning."""
    from reconciler.server.connect.settings import Settings  # noqa: PLC0415 - `--help` needs none of it

    settings = Settings(
        context=context, no_context=no_context or None, url=server, creds=creds, nkey=nkey, user=user, password=password,
        token=token, cert=tlscert, key=tlskey, ca=tlsca, tls_first=tlsfirst or None, js_domain=js_domain,
        js_api_prefix=js_api_prefix, inbox_prefix=inbox_prefix, timeout=timeout,
    )  # fmt: skip
    if dev and settings != Settings():
        raise common.Misused("--dev chooses the server by itself; leave out the other connection options.")
    common.refuse_if_any((no_context and context, "--no-context asks for no context at all; leave out --context."))
    if timeout is not None:
        _check_timeout(timeout)
    return Connection(settings=settings, dev=dev)


def _check_timeout(timeout: str) -> None:
    """Raise Misused where the option is no time. In a variable or a context, it would be an unusable setting."""
    from reconciler.server.connect.options import seconds  # noqa: PLC0415

    try:
        seconds(timeout)
    except CannotContinue:
        raise common.Misused(f"--timeout {timeout}: write for example 5s, 500ms or 1m30s.") from None
