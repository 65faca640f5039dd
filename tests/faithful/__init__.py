"""Nothing live goes unseen: a copy made from an export is the same account, and whatever is changed by hand is named."""
