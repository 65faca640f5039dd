"""Files: YAML into resources that know where every key stands, and back; every problem at its line and column."""
