"""A report as one HTML page, with a drawing."""
