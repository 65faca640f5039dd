"""What must come before what, and what can pass from one object to another."""
