"""Attacks on Dray, each with an oracle for what got through. Started by scripts/attack; see docs/testing.md."""
