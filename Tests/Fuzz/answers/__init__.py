"""The fuzzer of whole answers: scripts/fuzz answers."""
