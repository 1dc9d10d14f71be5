"""Runs on engines elsewhere: submitted, recorded, followed and taken up again."""
