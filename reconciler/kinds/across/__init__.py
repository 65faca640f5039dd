"""Rules about several resources at once: overlapping subjects, names that collide, copies, room, and who depends on what."""

from reconciler.kinds.across.capacity import RULES as CAPACITY
from reconciler.kinds.across.coherence import RULES as COHERENCE
from reconciler.kinds.across.dry_readers import RULES as DRY_READERS
from reconciler.kinds.across.filter_handovers import RULES as FILTERS
from reconciler.kinds.across.groups import RULES as GROUPS
from reconciler.kinds.across.members_shut_out import RULES as SHUT_OUT
from reconciler.kinds.across.names import RULES as NAMES
from reconciler.kinds.across.ownership import RULES as OWNERSHIP
from reconciler.kinds.across.renaming import RULES as RENAMING
from reconciler.kinds.across.replicas import RULES as REPLICAS
from reconciler.kinds.across.republishing import RULES as FLOWS
from reconciler.kinds.across.stored_again import RULES as STORED_AGAIN
from reconciler.kinds.across.stream_dependants import RULES as DEPENDANTS
from reconciler.kinds.across.subjects import RULES as SUBJECTS
from reconciler.kinds.across.unwanted_publishes import RULES as UNWANTED_PUBLISHES
from reconciler.kinds.across.used_streams import RULES as USED_STREAMS
from reconciler.kinds.copies.at_restart import RULES as AT_RESTART
from reconciler.kinds.copies.copied_and_deleted import RULES as DRAINED
from reconciler.kinds.copies.copy_rules import RULES as COPIES
from reconciler.kinds.copies.stopped_copies import RULES as STOPPED_COPIES

RULES = (
    *OWNERSHIP,
    *USED_STREAMS,
    *RENAMING,
    *NAMES,
    *SUBJECTS,
    *COPIES,
    *DRAINED,
    *AT_RESTART,
    *STOPPED_COPIES,
    *DEPENDANTS,
    *DRY_READERS,
    *UNWANTED_PUBLISHES,
    *FLOWS,
    *STORED_AGAIN,
    *CAPACITY,
    *REPLICAS,
    *GROUPS,
    *SHUT_OUT,
    *FILTERS,
    *COHERENCE,
)
