"""What servers refuse in a consumer, by itself and together with its stream."""
