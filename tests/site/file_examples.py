"""Small whole topologies for the pages about files: one for each key at the top, for each kind, and for each key that holds keys."""

from __future__ import annotations

TOP = {
    "reconciler": """
reconciler: 1
topology: orders
""",
    "topology": """
reconciler: 1
topology: orders        # every file of the folder says the same
streams:
  ORDERS: {subjects: [orders.>]}
""",
    "parameters": """
reconciler: 1
topology: orders
parameters:
  region: {description: "where this account is", pattern: "[a-z]{2}", default: eu}
  keep: {type: duration, default: 7d}
  copies: {type: number, default: 1, allowed: [1, 3]}
streams:
  ORDERS-${region}:
    subjects: ["orders.${region}.>"]
    max_age: ${keep}
    num_replicas: ${copies}
""",
    "policies": """
reconciler: 1
topology: orders
policies:
  - code: ACME101
    name: bounded
    on: stream
    forbid: resource.max_age == duration('0s') && resource.max_bytes < 0
    message: a stream has a limit
    help: write max_age or max_bytes
streams:
  ORDERS: {subjects: [orders.>], max_age: 7d}
""",
    "environments": """
reconciler: 1
topology: orders
parameters:
  keep: {type: duration, default: 7d}
environments:
  dev: {context: dev}
  prod:
    context: prod
    values: {keep: 30d}
    expect: {account: ORDERS}
    overlay:
      streams:
        ORDERS: {num_replicas: 3}
streams:
  ORDERS: {subjects: [orders.>], max_age: "${keep}"}
""",
    "expect": """
reconciler: 1
topology: orders
expect: {cluster: prod-eu, account: ORDERS, min_server: "2.12"}
streams:
  ORDERS: {subjects: [orders.>]}
""",
    "streams": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>], max_age: 7d}
  PAYMENTS: {external: {from: topology/payments}}      # another topology's
  AUDIT: {external: true}                              # somebody else's
""",
    "kv_buckets": """
reconciler: 1
topology: orders
kv_buckets:
  CONFIG: {history: 5}
  SESSIONS: {ttl: 30m, storage: memory}
""",
    "object_stores": """
reconciler: 1
topology: orders
object_stores:
  INVOICES: {ttl: 365d, max_bytes: 50GiB}
""",
    "allow": """
reconciler: 1
topology: orders
streams:
  TENANT-1: {subjects: [t1.>], max_age: 7d}
  TENANT-2: {subjects: [t2.>], max_age: 7d}
allow:
  - {code: ST301, to: 7d, on: "stream/TENANT-*", reason: "agreed with all tenants", until: 2027-12-31}
""",
    "guards": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>]}
guards:
  - {kind: stream, upto: 30, reason: "the old region is closed", until: 2027-12-31}
""",
    "moved": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    consumers:
      billing: {ack_policy: explicit}
moved:
  - {from: topology/shop, to: topology/orders}
  - {from: consumer/ORDERS/old, to: consumer/ORDERS/billing, reason: "named after its team"}
""",
    "removed": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>]}
removed:
  - {address: stream/OLD, reason: "moved to ORDERS in May", until: 2027-12-31}
  - {on: tenant=t17, upto: 4, reason: "their contract ended"}
""",
    "forget": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>]}
forget:
  - stream/AUDIT
  - {on: "consumer/ORDERS/temp-*", upto: 3}
""",
    "ignore_drift": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>]}
ignore_drift:
  - {address: "stream/*", path: placement, reason: "moved by operators", until: 2027-12-31}
""",
}

TOGETHER = {
    "include": (
        ('yaml title="billing.yaml"', """
reconciler: 1
topology: billing
include: [shared/audit.yaml]
streams:
  BILLS: {subjects: [bills.>]}
"""),
        ('yaml title="shared/audit.yaml"', """
streams:
  AUDIT: {subjects: [audit.>], max_age: 365d}
"""),
        ("console", """
$ reconciler validate billing.yaml
billing: 2 resources in 2 files can be planned (judged offline for nats-server 2.15)
"""),
    ),
    "environment": (
        ('yaml title="orders/base.yaml"', """
reconciler: 1
topology: orders
environments:
  dev: {context: dev}
  prod: {context: prod}
streams:
  ORDERS: {subjects: [orders.>], max_age: 7d}
"""),
        ('yaml title="orders/prod.yaml"', """
reconciler: 1
topology: orders
environment: prod
streams:
  ORDERS: {max_age: 30d}
"""),
        ("console", """
$ reconciler render orders --diff dev prod
--- dev
+++ prod
@@ -4,4 +4,4 @@
 streams:
   ORDERS:
     subjects: [orders.>]
-    max_age: 7d
+    max_age: 30d
"""),
    ),
}  # fmt: skip
"""What takes several files to show, or what a command prints."""

OF_EVERY_RESOURCE = """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: 3d
    protect: true
    labels: {team: orders}
    unmanaged: [placement, metadata.owner]
    allow: [{code: ST301, to: 3d, reason: "agreed with billing", until: 2027-12-31, upto: {messages: 100_000}}]
"""

KINDS = {
    "stream": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    retention: limits
    max_age: 7d
    max_bytes: 20GiB
    duplicate_window: 5m
    consumers:
      billing: {ack_policy: explicit}
""",
    "consumer": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    consumers:
      billing:                       # clients pull
        filter_subject: orders.*.paid
        ack_policy: explicit
        ack_wait: 1m
        max_deliver: 5
      dispatch:                      # one client at a time, the others stand by
        ack_policy: explicit
        priority_policy: pinned_client
        priority_groups: [jobs]
      ticker:                        # the server pushes
        deliver_subject: ticker.orders
        ack_policy: none
""",
    "static_group": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.*.*]
    subject_transform: {src: "orders.*.*", dest: "{{partition(6,1)}}.orders.{{wildcard(1)}}.{{wildcard(2)}}"}
    groups:
      billing:
        type: static
        max_members: 6
        members: [b1, b2, b3]
""",
    "elastic_group": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    groups:
      billing:
        type: elastic
        max_members: 12
        partitioning_filters: [{filter: orders.*.*, partitioning_wildcards: [1]}]
        members: [b1, b2, b3]
""",
    "kv_bucket": """
reconciler: 1
topology: orders
kv_buckets:
  CONFIG:
    history: 5
    ttl: 30d
    max_value_size: 64KiB
""",
    "object_store": """
reconciler: 1
topology: orders
object_stores:
  INVOICES:
    ttl: 365d
    max_bytes: 50GiB
    compression: s2
""",
}

INSIDE = {
    "OtherOwner": """
reconciler: 1
topology: payments
streams:
  ORDERS:
    external: {from: topology/orders}      # owned by that topology, as the ledger must say
    consumers:
      ledger: {filter_subject: orders.*.eu}
""",
    "Placement": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>], placement: {cluster: eu, tags: [ssd]}}
""",
    "StreamSource": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>]}
  ORDERS-COPY: {mirror: {name: ORDERS}}
  PAID:
    sources:
      - {name: ORDERS, filter_subject: orders.*.paid, opt_start_time: "2026-01-01T00:00:00Z"}
""",
    "External": """
reconciler: 1
topology: orders
streams:
  ORDERS-HUB: {mirror: {name: ORDERS, external: {api: $JS.hub.API}}}
""",
    "SourceConsumer": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    consumers:
      feed: {deliver_subject: feed.orders, ack_policy: flow_control, flow_control: true, idle_heartbeat: 1s}
  ORDERS-COPY: {mirror: {name: ORDERS, consumer: {name: feed, deliver_subject: feed.orders}}}
""",
    "SubjectTransform": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.*.*]
    subject_transform: {src: "orders.*.*", dest: "{{partition(6,1)}}.orders.{{wildcard(1)}}.{{wildcard(2)}}"}
""",
    "Republish": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>], republish: {src: orders.*.paid, dest: live.orders, headers_only: true}}
""",
    "ConsumerLimits": """
reconciler: 1
topology: orders
streams:
  ORDERS: {subjects: [orders.>], consumer_limits: {inactive_threshold: 30d, max_ack_pending: 500}}
""",
    "PartitioningFilter": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    groups:
      billing:
        type: elastic
        max_members: 12
        partitioning_filters:
          - {filter: orders.*.*, partitioning_wildcards: [1]}
          - {filter: orders.eu.*.*, partitioning_wildcards: [1, 2]}
""",
    "MemberMapping": """
reconciler: 1
topology: orders
streams:
  ORDERS:
    subjects: [orders.>]
    groups:
      billing:
        type: elastic
        max_members: 4
        partitioning_filters: [{filter: orders.*.*, partitioning_wildcards: [1]}]
        member_mappings:
          - {member: large, partitions: [0, 1, 2]}
          - {member: small, partitions: [3]}
""",
}

FLEET = """
reconciler: 1
fleet: shops
defaults:
  topology: shop.yaml
  labels: {env: prod}
targets:
  eu:
    context: prod-eu
    values: {region: eu}
  us:
    server: nats://us.example.org:4222
    creds: env://US_CREDS
    values: {region: us}
"""

FILLED = """
reconciler: 1
topology: shop
parameters:
  region:
streams:
  ORDERS-${region}: {subjects: ["orders.${region}.>"]}
"""

FILLING = """
$ reconciler validate shop.yaml --value region=eu
shop: 1 resource in 1 file can be planned (judged offline for nats-server 2.15)
"""
