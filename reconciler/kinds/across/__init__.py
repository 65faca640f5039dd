"""Rules about several resources at once: overlapping subjects, names that collide, references."""

from reconciler.kinds.across.names import RULES as NAMES
from reconciler.kinds.across.ownership import RULES as OWNERSHIP
from reconciler.kinds.across.subjects import RULES as SUBJECTS

RULES = (*OWNERSHIP, *NAMES, *SUBJECTS)
