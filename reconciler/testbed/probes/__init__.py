"""Client operations on a scratch account, and a record of what each of them experienced: the effect of a change on
clients is the difference between two records."""
