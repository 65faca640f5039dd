"""Streams in canonical form: from what a server echoes, and from what a file says, by predicting that echo."""

from __future__ import annotations

from reconciler.changes.stages import patched_config
from reconciler.kinds.fields.canonical_form import (
    MINUTE,
    Canon,
    Settled,
    as_list,
    canonical_time,
    lowercase,
    mapping,
    metadata,
    positive,
    sources_followed,
)
from reconciler.kinds.fields.known import V2_12, V2_14, known_fields
from reconciler.kinds.stream_config.stream_fields import StreamConfig
from reconciler.model.resource import Config, Json, ServerDefault
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version

LIMITS = ("max_consumers", "max_msgs", "max_bytes", "max_msgs_per_subject", "max_msg_size")
DUPLICATE_WINDOW = 2 * MINUTE
"""What the server fills in unless max_age or its own limit is shorter."""


def _canonical_source(value: Json) -> Json:
    source = mapping(value)
    if "opt_start_time" in source:
        source["opt_start_time"] = canonical_time(source["opt_start_time"])
    return source


_canon = Canon(
    defaults={name: about.default for name, about in known_fields(StreamConfig).items() if about.default is not None},
    clean={
        **dict.fromkeys(LIMITS, positive),
        "discard": lowercase,  # the only text the server reads in any letter case
        "subjects": as_list,
        "metadata": metadata,
        "placement": mapping,
        "consumer_limits": mapping,
        "mirror": _canonical_source,
        "sources": lambda sources: [_canonical_source(source) for source in sources],
        "subject_transform": mapping,
        "republish": lambda value: {"src": ">", **mapping(value)},
    },
)


def canonical(config: Config) -> dict[str, Json]:
    """The canonical form of a server's echo, or of any configuration with the server's names; the stream's name is not
    part of it."""
    sparse = _canon(config)
    sparse.pop("name", None)
    return sparse


def lasting_config(echo: Config) -> dict[str, Json]:
    """The same of a live stream, without what servers forget when they start: the duplicate window of a mirror, which means
    nothing, since nobody publishes to one."""
    config = canonical(echo)
    if "mirror" in config:
        config.pop("duplicate_window", None)
    return config


def settle(
    body: Config, target: Target, *, name: str, origin: Config | None = None, is_direct: bool = False
) -> Settled:
    """The configuration that this server would echo for `body`. `origin` is the canonical configuration of the mirror's origin, if that
    is in the same account and known; `is_direct` is its stock `mirror_direct` otherwise. Fields that this version lacks
    stay as written: a rule refuses them."""
    stated = canonical(body)
    config = dict(stated)
    _add_name_as_subject(config, name)
    _force_rollups(config, target.version)
    _imply_republish(config)
    filled = _server_defaults(config, target.version, origin)
    if "mirror" in config and "external" not in config["mirror"] and "mirror_direct" not in {**body, **filled}:
        filled["mirror_direct"] = ServerDefault(is_direct or None, stays=True)
    _apply_sealing(config)
    config |= {field: default.value for field, default in filled.items() if default.value is not None}
    return Settled(config=config, filled=filled, follows=sources_followed(stated, config, _value_sources(config)))


def _value_sources(config: Config) -> dict[str, str]:
    """The sources, in words, of values that the server sets by itself, or instead of what the file says."""
    sealed = dict.fromkeys(SEALED, "from sealed")
    forced = "from subject_delete_marker_ttl" if "subject_delete_marker_ttl" in config else "from allow_msg_schedules"
    follows = {
        **dict.fromkeys(("allow_msg_ttl", "allow_rollup_hdrs", "deny_purge"), forced),
        "subjects": "from its name",
    }
    return {**follows, "republish": "from subject_transform", **(sealed if "sealed" in config else {})}


STOCK: Config = {"first_seq": 1}
"""Left-out fields whose defaults a server shows, so stating the default makes no difference."""


def _add_name_as_subject(config: dict[str, Json], name: str) -> None:
    if not config.keys() & {"subjects", "mirror", "sources"}:
        config["subjects"] = [name]


def _force_rollups(config: dict[str, Json], version: Version) -> None:
    markers = "subject_delete_marker_ttl" in config
    schedules = "allow_msg_schedules" in config and version >= V2_12
    if markers:
        config["allow_msg_ttl"] = True
    if (markers or schedules) and "allow_rollup_hdrs" not in config:
        config["allow_rollup_hdrs"] = True
        config.pop("deny_purge", None)


def _imply_republish(config: dict[str, Json]) -> None:
    """Everything to everything would be a cycle, unless all subjects are transformed: then it means the transformed
    ones."""
    transform, republish = config.get("subject_transform"), config.get("republish")
    if not transform or not republish or (republish["src"], republish.get("dest")) != (">", ">"):
        return
    if transform.get("dest") and config.get("subjects") == [transform.get("src")]:
        config["republish"] = {**republish, "src": transform["dest"], "dest": transform["dest"]}


def _server_defaults(config: dict[str, Json], version: Version, origin: Config | None) -> dict[str, ServerDefault]:
    """Values that the server fills in for fields that the file leaves out."""
    filled: dict[str, ServerDefault] = {}
    if "duplicate_window" not in config:
        filled["duplicate_window"] = _default_window(config, version)
    if "mirror" in config and origin is not None and "external" not in config["mirror"]:
        # The server overwrites this with the allow_direct of an origin that it can see, whatever the request says.
        config.pop("mirror_direct", None)
        direct = origin.get("allow_direct") or None
        filled["mirror_direct"] = ServerDefault(direct, source=f"from allow_direct of {config['mirror']['name']}")
    return filled


def _default_window(config: Config, version: Version) -> ServerDefault:
    if "mirror" in config:
        return ServerDefault(None)
    longest = _age_bound_on_window(config)
    if "sources" in config and version >= V2_14:  # earlier servers filled one in, and an upgrade leaves it
        return ServerDefault(None, most=min(longest, DUPLICATE_WINDOW))
    if longest < DUPLICATE_WINDOW:
        return ServerDefault(longest, most=longest, source="from max_age")
    return ServerDefault(DUPLICATE_WINDOW, most=DUPLICATE_WINDOW)


def _age_bound_on_window(config: Config) -> int:
    """The bound that max_age puts on the window: none without max_age, or if sealing has lifted it."""
    return DUPLICATE_WINDOW if "sealed" in config else config.get("max_age", DUPLICATE_WINDOW)


SEALED: Config = {"discard": "new", "deny_delete": True, "deny_purge": True, "max_age": 0, "allow_rollup_hdrs": False}
"""Fields that sealing sets, whatever the request says."""


def _apply_sealing(config: dict[str, Json]) -> None:
    """Sealing comes after all other checks and overrides them."""
    if "sealed" in config:
        config |= SEALED
        for name in [name for name, value in SEALED.items() if not value]:
            del config[name]


def duplicate_window_after(config: Config, fields: Config, target: Target) -> dict[str, Json]:
    """The duplicate window that a server fills in as soon as a stream copies nothing, if it is another than now. `config` is
    as the server echoes it; `fields` are its new values, None for absence."""
    window = settle(patched_config(config, fields), target, name=str(config["name"])).config.get("duplicate_window")
    return {} if window == canonical(config).get("duplicate_window") else {"duplicate_window": window}
