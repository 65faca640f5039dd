"""Where a consumer stands among the messages of its stream: at its start, when it is recreated, and when its position is lost."""
