"""Client operations on a scratch account, and a record of what each of them experienced: what a change does to clients is the
difference between two records."""
