"""Small harms done to a copy of the code on purpose: each must turn the tests red that are there to notice it."""
