"""Runs the attacks, and prints what was tried and what got through."""

import argparse
import json
import os
import pathlib
import signal
import sys
import threading
import time
import traceback

from . import (addresses, documents, extreme_numbers, idle_connections, naughty_strings, oracles, paths, poison, raw_answers,
               raw_requests, secure_requests, self_test, tokens)
from .lab import Lab
from .record import MAX_SHOWN, Record

ATTACKS = {
    "addresses": addresses.attack,
    "paths": paths.attack,
    "strings": naughty_strings.attack,
    "json": documents.attack,
    "requests": raw_requests.attack,
    "tls": secure_requests.attack,
    "answers": raw_answers.attack,
    "connections": idle_connections.attack,
    "poison": poison.attack,
    "tokens": tokens.attack,
    "numbers": extreme_numbers.attack,
}
#: Those of the first lane keep the processors busy, those of the second one wait most of the time.
LANES = (("addresses", "paths", "strings", "json", "tokens", "numbers"),
         ("requests", "tls", "answers", "connections", "poison"))


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/attack", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a part of each attack, in about a minute")
    parser.add_argument("--seed",
                        default=str(int(time.time())),
                        help="what is by chance is the same for the same seed")
    parser.add_argument("--only", action="append", choices=list(ATTACKS), metavar="NAME",
                        help=f"one attack; may be given more than once: {', '.join(ATTACKS)}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--self-test", action="store_true", help="show that every oracle can fail, and end")
    parser.add_argument("--dray", type=pathlib.Path, help="the binary to attack")
    options = parser.parse_args()
    if not options.self_test and not options.dray:
        parser.error("--dray is missing")
    return options


def run(options):
    """Runs the attacks in two lanes beside each other, each with a cluster of its own."""
    if options.short:
        oracles.MAX_ANSWER_SECONDS = oracles.MAX_SHORT_ANSWER_SECONDS
    records = {name: Record(name, options.seed, options.short) for name in ATTACKS
               if not options.only or name in options.only}
    lanes = [[records[name] for name in lane if name in records] for lane in LANES]
    labs = [Lab(options.dray.resolve()) for lane in lanes if lane]
    threads = [threading.Thread(target=run_lane, args=(lab, lane, options), daemon=True)
               for lab, lane in zip(labs, filter(None, lanes))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for lab in labs:
            lab.close()
    return list(records.values())


def run_lane(lab, lane, options):
    for record in lane:
        try:
            record.timed(lambda record=record: ATTACKS[record.name](lab, record))
        except Exception:  # What keeps an attack from its end is no pass.
            record.fail("the attack itself", traceback.format_exc())
        if not options.json:
            print(f"{record.name:<12} {record.tried:>7,} tried {len(record.through):>5,} through "
                  f"{record.seconds:>6.1f} s", flush=True)


def main():
    options = arguments()
    if options.self_test:
        return 1 if self_test.run() else 0
    begin = time.monotonic()
    if not options.json:
        print(f"seed {options.seed}", flush=True)
    records = run(options)
    through = sum(len(record.through) for record in records)
    if options.json:
        print(json.dumps({"seed": options.seed, "short": options.short, "through": through,
                          "tried": sum(record.tried for record in records),
                          "attacks": [record.as_json() for record in records]}, indent=2))
    else:
        for record in records:
            for note in record.notes:
                print(f"{record.name}: {note}")
            if len(record.through) > MAX_SHOWN:
                print(f"{record.name}: {len(record.through)} through; --json has all of them")
        tried = sum(record.tried for record in records)
        print(f"{'all':<12} {tried:>7,} tried {through:>5,} through {time.monotonic() - begin:>6.1f} s")
    return 1 if through else 0


if __name__ == "__main__":
    # Ended in either way, it leaves no process behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # The lanes' threads have nothing left that they could wait for.
        os._exit(130)
