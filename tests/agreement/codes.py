"""Every err_code that server-rules §1.2 to §2.5 name, and why some of them cannot be reached by what we send."""

from __future__ import annotations

from collections.abc import Mapping

NAMED = frozenset(
    (
        10005, 10012, 10013, 10017, 10021, 10022, 10024, 10025, 10026, 10027, 10028, 10030, 10031, 10034, 10046, 10047, 10049,
        10051, 10052, 10055, 10056, 10058, 10059, 10065, 10069, 10074, 10079, 10080, 10081, 10082, 10083, 10084, 10086, 10087,
        10088, 10089, 10090, 10091, 10093, 10094, 10095, 10098, 10099, 10100, 10101, 10102, 10103, 10107, 10108, 10112, 10113,
        10114, 10115, 10116, 10121, 10122, 10123, 10124, 10125, 10126, 10127, 10128, 10131, 10132, 10133, 10134, 10135, 10136,
        10137, 10138, 10139, 10140, 10141, 10142, 10143, 10144, 10145, 10146, 10147, 10148, 10149, 10150, 10151, 10152, 10153,
        10154, 10155, 10156, 10157, 10159, 10161, 10162, 10173, 10178, 10183, 10184, 10186, 10187, 10196, 10197, 10198, 10209,
        10213, 10215, 10216, 10218, 10219, 10220, 10221, 10222, 10226,
    )
)  # fmt: skip

UNREACHED: Mapping[int, str] = {
    10005: "no suitable peers: only in a cluster (see rows_cluster)",
    10017: "the name in the body is not the one in the subject: we send both alike",
    10051: "10069 as clusters of 2.11 and 2.12 say it (see rows_cluster)",
    10056: "the name in the body is not the one in the subject: we send both alike",
    10087: "a negative max_waiting is canonically no limit and never sent",
    10090: "direct consumers are the server's own; no file can say it",
    10091: "direct consumers are the server's own; no file can say it",
    10093: "exists, but no version raises it",
    10114: "a negative max_batch is canonically no limit and never sent",
    10123: "placement and replicas at once: we never ask for it; it is done in two steps (see rows_cluster)",
    10124: "another reconfiguration runs: only in a cluster, for a moment",
    10126: "more replicas than the stream: only in a cluster (see rows_cluster)",
    10131: "a filter in the subject: we send none there",
    10132: "a request of 2.11's legacy endpoint",
    10134: "other replicas than a work queue: only in a cluster (see rows_cluster)",
    10137: "a filter in the subject: we send none there",
    10149: "the consumer is gone: only after a race, since a plan sees it",
    10157: "pedantic requests only",
    10219: "pedantic requests only: the server sets flow control itself",
    10226: "another reconfiguration runs: only in a cluster, for a moment",
}
"""Codes that a single server does not answer to anything we send, with the reason."""
