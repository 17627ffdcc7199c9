"""What was tried, and what got through."""

import random
import sys
import time

MAX_SHOWN = 20


class Record:
    """The outcome of one attack: how many inputs were tried, and those that got through."""

    def __init__(self, name, seed, is_short):
        self.name, self.seed, self.is_short = name, seed, is_short
        self.tried = 0
        self.through = []
        self.seconds = 0.0
        self.notes = []

    def random(self, part=""):
        """A generator that is the same for the same seed, attack and part."""
        return random.Random(f"{self.seed}:{self.name}:{part}")

    def count(self, whole, short):
        return short if self.is_short else whole

    def judge(self, given, happened):
        """Counts an input; `happened` says how it got through, and is None where it did not."""
        self.tried += 1
        if happened:
            self.fail(given, happened)

    def fail(self, given, happened):
        found = {"input": shown(given), "happened": shown(happened, 2_000)}
        self.through.append(found)
        if len(self.through) <= MAX_SHOWN:
            print(f"THROUGH {self.name} (seed {self.seed}): {found['input']}\n  {found['happened']}",
                  file=sys.stderr, flush=True)

    def timed(self, work):
        begin = time.monotonic()
        try:
            work()
        finally:
            self.seconds = time.monotonic() - begin

    def as_json(self):
        return {"attack": self.name, "tried": self.tried, "through": self.through,
                "seconds": round(self.seconds, 1), "notes": self.notes}


def shown(value, limit=400):
    """One line of printable ASCII: what attacks send is not fit for a terminal."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
