"""Reports are functions of data: plans built by hand in, text out, compared with what stands in golden/."""
