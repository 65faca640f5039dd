"""What single commands decide beside the plan, as pure data and functions: saved plans, drift, rehearsals."""
