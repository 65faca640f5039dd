"""Elastic groups: a KV record describing partitions, plus the work-queue stream `<stream>-<group>` members read from.

The stream sources the original one and puts a partition number before each subject. It is never edited in place: that
imports everything again, or silently drops the backlog.
"""

from reconciler.kinds.elastic_group.kind import ELASTIC_GROUP

__all__ = ["ELASTIC_GROUP"]
