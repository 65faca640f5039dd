"""Elastic groups: a KV record that describes partitions, and the work-queue stream `<stream>-<group>` that members read
from.

The queue sources the original stream and puts a partition number before each subject. It is never edited in place: that
imports everything again, or silently drops the backlog.
"""

from reconciler.kinds.elastic_group.kind import ELASTIC_GROUP

__all__ = ["ELASTIC_GROUP"]
