"""What must come before what, and what may pass from one object to another."""
