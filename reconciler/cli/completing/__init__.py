"""What a word of a command line may become: commands and options by a table, names by the files; nothing heavy is imported."""
