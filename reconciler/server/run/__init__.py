"""Steps carried out: checked, sent, verified."""
