"""The JetStream API as JSON over a nats-py connection: every read, write and wait goes through here.

nats-py's own JetStream classes drop fields they do not know and hold durations as floats, so they are not used.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Self, TypeVar

from nats.aio.client import Client

from reconciler.model import waits
from reconciler.model.ledger.entries import compact_json
from reconciler.model.resource import Json
from reconciler.server.wire.answers import (
    IN_FLIGHT,
    NO_LEADER,
    NOTHING_DONE,
    PASSING,
    TRANSIENT,
    WRONG_LAST_SEQUENCE,
    Answer,
    Conflict,
    Put,
    Refusal,
    Stored,
    answer_of,
    is_lasting,
)
from reconciler.server.wire.pipeline import (
    NoAnswer,
    Pipeline,
    Reply,
    Silence,
    Unless,
    Window,
    allow_always,
    end_at_first_reply,
)
from reconciler.server.wire.shared_connection import SharedConnection

PERSISTENCE = 4
"""How many times the timeout of one answer a leader may be missing: elections take up to ten seconds."""
WHO = "$SYS.REQ.USER.INFO"
"""Asked at the connected server itself, whatever the domain or prefix."""
T = TypeVar("T")
Stale = Callable[[str, Mapping[str, Json], Refusal], bool]
"""(endpoint, body, refusal) → does this run know better, so that the refusal will pass?"""


def _is_of_a_creation(reply: Reply) -> bool:
    """Drop an earlier answer: a cluster may first report that it cleaned up after a refused creation of that name."""
    return b"_delete_response" not in reply.data[:64]


def _is_of_a_copy(answer: Answer) -> bool:
    """Is it a replica's answer? While a replicated group has no leader, any replica answers from its own state, and may
    lack what was acknowledged."""
    cluster = answer.get("cluster") if isinstance(answer, dict) else None
    return bool(cluster and cluster.get("name") and not cluster.get("leader"))


def _wait_text(request: str, answer: object) -> str:
    """Return what is waited for, where an answer is none that one can go on with."""
    return f"until {request} is answered, and asking again: {answer}"


class Pauses:
    """Waits between attempts, longer and longer and never quite the same, until patience is over. Inside a `with`
    block, watchers learn what for, as `waits.Wait` has it."""

    def __init__(self, patience: float, what: str = "") -> None:
        self._deadline, self._pause = asyncio.get_running_loop().time() + patience, 0.05
        self._what, self._patience = what, patience

    def __enter__(self) -> Self:
        self._wait = waits.begin(self._what, self._patience)
        return self

    def __exit__(self, *_: object) -> None:
        waits.end(self._wait)

    def tell(self, what: str) -> None:
        """It is something else by now."""
        self._wait.what = what

    async def wait(self) -> bool:
        """Wait before the next attempt, and return whether there is time for it."""
        if asyncio.get_running_loop().time() + self._pause > self._deadline:
            return False
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.5))
        self._pause = min(2 * self._pause, 1.0)
        return True


def api_prefix(domain: str | None, prefix: str | None) -> str:
    """Return the beginning of every API subject, ending in a dot; an imported prefix wins over a domain."""
    return f"{prefix.rstrip('.')}." if prefix else f"$JS.{domain}.API." if domain else "$JS.API."


class JetStream:
    """The API of one account, wherever it is: behind `$JS.API.`, a JetStream domain or an imported prefix."""

    def __init__(self, pipeline: Pipeline, *, domain: str | None, prefix: str | None, timeout: float) -> None:
        self.pipeline = pipeline
        self.domain = domain
        self.timeout = timeout
        self._hurried: Callable[[], bool] = lambda: True
        self._forbidden: Unless = allow_always
        self.reached: dict[str, int] = {}
        """By bucket, the highest revision that one of our writes got. A later one is higher, unless the bucket came
        back older than it was. Shared by everything that works for the same run."""
        self.went_back: set[str] = set()
        """Buckets that came back older."""
        self._stale: Stale = lambda _endpoint, _body, _said: False
        self.prefix = api_prefix(domain, prefix)

    @classmethod
    async def open(
        cls,
        nc: Client | SharedConnection,
        *,
        domain: str | None = None,
        prefix: str | None = None,
        within: float = 5,
        window: Window = 64,
    ) -> Self:
        """Open the API; `within` is the number of seconds for one answer."""
        pipeline = Pipeline(nc if isinstance(nc, SharedConnection) else SharedConnection(nc), window=window)
        await pipeline.open()
        return cls(pipeline, domain=domain, prefix=prefix, timeout=within)

    def writing_unless(self, forbidden: Unless) -> JetStream:
        """Return the same API, with each write sent only if nothing forbids it at that moment, neither this nor an
        earlier condition."""
        guarded, before = copy.copy(self), self._forbidden
        guarded._forbidden = lambda: before() or forbidden()
        return guarded

    def for_a_run(self) -> JetStream:
        """Return the same API without memory of buckets: between two runs somebody may have recreated them."""
        other = copy.copy(self)
        other.reached, other.went_back = {}, set()
        return other

    def repeating_stale_refusals(self, stale: Stale) -> JetStream:
        """Return the same API, which repeats a refused request while this run knows better, until the time is over."""
        repeating_stale_refusals = copy.copy(self)
        repeating_stale_refusals._stale = stale
        return repeating_stale_refusals

    def persistent(self, *, hurried: Callable[[], bool] = lambda: False) -> JetStream:
        """Return the same API, which also repeats unanswered requests for a while, as a server restarts or a leader is
        elected. It stops when `hurried` says so."""
        other = copy.copy(self)
        other._hurried = hurried
        return other

    @property
    def patience(self) -> float:
        """Return the seconds after which a passing problem counts as lasting."""
        return self.timeout if self._hurried() else PERSISTENCE * self.timeout

    def beside(self, *, within: float) -> JetStream:
        """Return the same place with a window of its own, for requests that must not wait behind others. Close it
        first."""
        other = copy.copy(self)
        other.pipeline, other.timeout = self.pipeline.beside(), min(within, self.timeout)
        other._hurried = lambda: True
        return other

    async def close(self) -> None:
        """Stop using the connection, and leave it as it was."""
        await self.pipeline.close()

    @property
    def is_elsewhere(self) -> bool:
        """Does the API answer from another place than the connected server?"""
        return self.prefix != "$JS.API."

    @property
    def list_timeout(self) -> float:
        """Seconds for a list: a clustered LIST gathers for up to 4 s before it names what is missing; giving up earlier
        would lose that."""
        return max(self.timeout, 6.0)

    async def request(
        self,
        endpoint: str,
        body: Mapping[str, Json] | None = None,
        *,
        level: int = 0,
        within: float | None = None,
        unless: Unless = allow_always,
    ) -> Answer:
        """Send one request, once. `level`: refuse unless the server has this API level."""
        payload = b"" if body is None else compact_json(body)
        headers = {"Nats-Required-Api-Level": str(level)} if level else None
        wait = self.timeout if within is None else within
        subject = self.prefix + endpoint
        replies = await self.pipeline.stream(
            subject,
            payload,
            within=wait,
            headers=headers,
            unless=unless,
            ends=_is_of_a_creation if ".CREATE." in endpoint else end_at_first_reply,
        )
        answer = replies if isinstance(replies, NoAnswer) else answer_of(replies[-1])
        return NO_LEADER if ".INFO." in endpoint and _is_of_a_copy(answer) else answer

    async def read(
        self, endpoint: str, body: Mapping[str, Json] | None = None, *, within: float | None = None
    ) -> Answer:
        """Send a request that changes nothing, and repeat it while that may help."""

        def may_help(answer: Answer) -> bool:
            if isinstance(answer, NoAnswer):
                return self._is_persistent and (answer.outcome_unknown or answer.why in PASSING)
            return isinstance(answer, Refusal) and (
                answer.err_code in TRANSIENT or self._stale(endpoint, body or {}, answer)
            )

        return await self._ask_with_retries(endpoint, lambda: self.request(endpoint, body, within=within), may_help)

    async def write(self, endpoint: str, body: Mapping[str, Json] | None = None, *, level: int = 0) -> Answer:
        """Send a request that changes something, and repeat it only where it is certain that nothing was done."""

        def again(answer: Answer) -> bool:
            is_stale = isinstance(answer, Refusal) and self._stale(endpoint, body or {}, answer)
            return is_stale or self._was_not_done(answer)

        return await self._ask_with_retries(
            endpoint, lambda: self.request(endpoint, body, level=level, unless=self._forbidden), again
        )

    @property
    def _is_persistent(self) -> bool:
        return self.patience > self.timeout

    def _was_not_done(self, answer: object) -> bool:
        """Was it certainly not done, by the server's own word or because nobody received it, and may it still be?"""
        if isinstance(answer, NoAnswer):
            return self._is_persistent and answer.why in PASSING and not is_lasting(self._forbidden())
        return isinstance(answer, Refusal) and (answer.err_code in NOTHING_DONE or answer.is_peer_offline)

    async def _ask_with_retries(self, endpoint: str, ask: Callable[[], Awaitable[T]], again: Callable[[T], bool]) -> T:
        answer = await ask()
        if again(answer):
            with Pauses(self.patience, _wait_text(endpoint, answer)) as pauses:
                while await pauses.wait():
                    answer = await ask()
                    if not again(answer):
                        break
                    pauses.tell(_wait_text(endpoint, answer))
        return answer

    async def user_info(self) -> Mapping[str, Json] | None:
        """Return who we are, as the connected server says (`$SYS.REQ.USER.INFO`); None when it may not be asked. Across
        a leaf node the other server answers too, and reports what the link between them may do."""

        def ours(reply: Reply) -> bool:
            body = answer_of(reply)
            return isinstance(body, dict) and (body.get("server") or {}).get("id") == self.pipeline.server_id

        replies = await self.pipeline.stream(WHO, b"", within=min(self.timeout, 2), ends=ours)
        body = replies if isinstance(replies, NoAnswer) else answer_of(replies[-1])
        return None if isinstance(body, Refusal | NoAnswer) else body

    def entry_subject(self, bucket: str, key: str) -> str:
        """Return the subject of a KV publish. A plain `$KV` publish from a leaf node would land in the *leaf's*
        bucket."""
        return f"{self.prefix if self.is_elsewhere else ''}$KV.{bucket}.{key}"

    async def put_entry(
        self,
        bucket: str,
        key: str,
        value: bytes,
        *,
        expected_revision: int | None,
        headers: Mapping[str, str] | None = None,
    ) -> Put:
        """Write a KV entry by compare-and-set; revision 0: the key must not exist, None: any revision."""
        sent = dict(headers or {})
        if expected_revision is not None:
            sent["Nats-Expected-Last-Subject-Sequence"] = str(expected_revision)
        subject = self.entry_subject(bucket, key)
        reached = 0

        async def publish() -> Answer:
            nonlocal reached
            reached = self.reached.get(bucket, 0)
            reply = await self.pipeline.request(
                subject, value, within=self.timeout, headers=sent or None, unless=self._forbidden
            )
            return answer_of(reply)

        def again(answer: Answer) -> bool:
            in_flight = self._is_persistent and isinstance(answer, Refusal) and answer.err_code == IN_FLIGHT
            return in_flight or self._was_not_done(answer)

        answer = await self._ask_with_retries(f"entry {key} of bucket {bucket}", publish, again)
        if isinstance(answer, Refusal) and answer.err_code in WRONG_LAST_SEQUENCE:
            return Conflict(expected_revision or 0, answer.description)
        if isinstance(answer, Refusal | NoAnswer):
            return answer
        stored = self._put_result(bucket, answer)
        if isinstance(stored, Stored):
            self._note_revision(bucket, stored.revision, reached)
        return stored

    def _note_revision(self, bucket: str, revision: int, before: int) -> None:
        """Note the revision of a write. `before`: the revision when this write was sent."""
        if revision <= before:
            self.went_back.add(bucket)
        self.reached[bucket] = max(revision, self.reached.get(bucket, 0))

    def _put_result(self, bucket: str, ack: Mapping[str, Json]) -> Put:
        wrong_domain = self.domain is not None and ack.get("domain") != self.domain
        if wrong_domain or ack.get("stream") != f"KV_{bucket}":
            stored_in = f"stream {ack.get('stream')} of domain {ack.get('domain') or '(none)'}"
            return Refusal(
                0, 0, f"the entry was stored in {stored_in}, not in bucket {bucket} of {self.domain or 'this'}"
            )
        return Stored(int(ack["seq"]))


__all__ = ["Answer", "Conflict", "JetStream", "NoAnswer", "Put", "Refusal", "Reply", "Silence", "Stored", "answer_of"]
