"""What a run fills in: values of parameters, `for_each`, environments and their overlays."""
