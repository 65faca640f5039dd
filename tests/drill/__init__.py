"""Elastic groups made anew in every situation, cut off and restarted after every step: what is lost, what comes again."""
