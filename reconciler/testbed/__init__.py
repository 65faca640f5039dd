"""Our own servers, real or simulated: embedded ones, throw-away stages, and imagined accounts."""
