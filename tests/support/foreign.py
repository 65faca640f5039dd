"""Files as other tools write them, by hand: for reading them where the tools themselves are not there."""

from __future__ import annotations

INFO = """{
  "config": {
    "name": "ORDERS", "subjects": ["orders.\\u003e"], "retention": "limits", "max_consumers": -1, "max_msgs": -1,
    "max_bytes": -1, "max_age": 604800000000000, "max_msgs_per_subject": -1, "max_msg_size": -1, "discard": "old",
    "storage": "file", "num_replicas": 1, "duplicate_window": 120000000000, "allow_direct": true,
    "metadata": {"_nats.level": "0", "_nats.req.level": "0", "_nats.ver": "2.12.8", "team": "billing"}
  },
  "created": "2026-03-01T08:00:00Z", "state": {"messages": 3, "consumer_count": 1}
}
"""
CONSUMER = """{
  "stream_name": "ORDERS", "name": "dispatch",
  "config": {
    "name": "dispatch", "durable_name": "dispatch", "ack_policy": "explicit", "ack_wait": 45000000000,
    "deliver_policy": "all", "max_deliver": -1, "max_waiting": 512, "max_ack_pending": 1000, "replay_policy": "instant",
    "num_replicas": 0
  },
  "created": "2026-03-01T08:00:00Z"
}
"""

TERRAFORM = """{
  "version": 4, "terraform_version": "1.11.4", "serial": 3,
  "resources": [
    {"mode": "managed", "type": "jetstream_stream", "name": "orders",
     "instances": [{"attributes": {
       "id": "JETSTREAM_STREAM_ORDERS", "name": "ORDERS", "subjects": ["orders.>"], "max_age": 604800, "ack": false,
       "duplicate_window": 120, "storage": "file", "replicas": 1, "allow_direct": true, "max_bytes": 1073741824,
       "placement_cluster": "", "placement_tags": ["ssd"], "inactive_threshold": 3600000000000, "max_ack_pending": 0,
       "source": [{"name": "IN", "filter_subject": "", "start_seq": 7, "external": [{"api": "$JS.hub.API", "deliver": ""}],
                   "subject_transform": [], "start_time": null, "consumer": []}],
       "republish_source": "orders.a", "republish_destination": "copy.a", "republish_headers_only": true
     }}]},
    {"mode": "managed", "type": "jetstream_consumer", "name": "dispatch",
     "instances": [{"attributes": {
       "stream_id": "JETSTREAM_STREAM_ORDERS", "durable_name": "dispatch", "ack_policy": "explicit", "ack_wait": 45,
       "deliver_all": null, "deliver_new": true, "max_delivery": 5, "max_ack_pending": 20000, "sample_freq": 30,
       "backoff": [1, 60], "filter_subject": "orders.new", "inactive_threshold": 0
     }}]},
    {"mode": "managed", "type": "jetstream_kv_bucket", "name": "config",
     "instances": [{"attributes": {"name": "CONFIG", "history": 5, "ttl": 86400, "max_bucket_size": -1}}]},
    {"mode": "managed", "type": "jetstream_kv_entry", "name": "secret",
     "instances": [{"attributes": {"bucket": "CONFIG", "key": "k", "value": "not to be shown"}}]},
    {"mode": "managed", "type": "aws_instance", "name": "other", "instances": []}
  ]
}
"""

NACK = """apiVersion: jetstream.nats.io/v1beta2
kind: Stream
metadata: {name: orders}
spec:
  name: ORDERS
  subjects: ["orders.>"]
  maxAge: 24h
  preventDelete: true
  servers: ["nats://inside:4222"]
---
apiVersion: v1
kind: List
items:
  - apiVersion: jetstream.nats.io/v1beta2
    kind: Consumer
    metadata: {name: dispatch}
    spec:
      streamName: ORDERS
      durableName: dispatch
      deliverPolicy: lastPerSubject
      filterSubject: orders.new
  - apiVersion: jetstream.nats.io/v1beta2
    kind: Consumer
    metadata: {name: pinned}
    spec:
      streamName: ORDERS
      durableName: pinned
      ackPolicy: explicit
      ackWait: 1m30s
      priorityPolicy: pinned_client
      priorityGroups: [jobs]
---
apiVersion: jetstream.nats.io/v1beta2
kind: KeyValue
metadata: {name: config}
spec: {bucket: CONFIG, history: 5, ttl: 36h, limitMarkerTtl: 60000000000}
---
apiVersion: jetstream.nats.io/v1beta2
kind: ObjectStore
metadata: {name: files}
spec: {bucket: FILES, compression: true}
---
apiVersion: v1
kind: Secret
metadata: {name: creds}
"""
