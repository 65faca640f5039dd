"""Files: YAML into resources that know the place of every key, and back; every problem at its line and column."""
