"""Declarative config-as-code for NATS JetStream; the public API speaks the words of the command line."""

__version__ = "0.1.0"
