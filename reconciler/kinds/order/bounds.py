"""How many resources of a kind one apply may delete or replace without a word about it in the file.

Small numbers are everyday work, and a share lets large topologies do theirs; beyond both, most often the path, the branch
or the account is wrong. `guards:` in the file raises a number, where a reviewer sees it.
"""

from reconciler.changes.kind import Bound

BOUNDS = {
    "stream": Bound(floor=5, percent=20),
    "consumer": Bound(floor=20, percent=25),
    "static_group": Bound(floor=5, percent=20),
    "elastic_group": Bound(floor=5, percent=20),
    "kv_bucket": Bound(floor=5, percent=20),
    "object_store": Bound(floor=3, percent=20),
}
