"""KV buckets and object stores: streams of a fixed shape."""
