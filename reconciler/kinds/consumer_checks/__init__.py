"""What servers refuse in a consumer, by itself and beside its stream."""
