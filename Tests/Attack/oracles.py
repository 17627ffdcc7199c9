"""What "through" means: each oracle takes an observation, and returns what is wrong with it, or None."""

import collections
import json
import re

#: A process that ended: its status (negative for a signal, None when it had to be killed), outputs, seconds.
Ended = collections.namedtuple("Ended", "status stdout stderr seconds")
#: An answer of the API; without one, status is None and body says what happened to the connection.
Answer = collections.namedtuple("Answer", "status headers body seconds")

#: Codes that say that Dray failed, not its input.
INTERNAL = re.compile(rb"worker\.internal|cluster\.internal|internal\.unknown|Fatal error|Illegal instruction")
#: Statuses of a shell for a process that died of SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL or SIGSEGV.
KILLED = {128 + signal for signal in (4, 5, 6, 7, 8, 9, 11)}
CODE = re.compile(r"\A(input|origin|content|integrity|manifest|storage|worker|cluster)\.[A-Za-z0-9.]+\Z")
MAX_ANSWER_SECONDS = 1.0
# In the short form, which runs among builds and tests: what stands still is found, what is slow is not.
MAX_SHORT_ANSWER_SECONDS = 10.0
#: Control characters of ASCII and Latin-1 but line feed and tab, and those that turn the direction of text.
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")


def process(ended, allowed=(0, 1, 2, 3, 99)):
    """Ended by itself, not by a signal, and not by a failure of its own."""
    if ended.status is None:
        return f"did not end in {ended.seconds:.0f} s"
    if ended.status < 0 or ended.status in KILLED:
        return f"died with {ended.status}: {tail(ended.stderr)}"
    if ended.status not in allowed:
        return f"exit {ended.status}: {tail(ended.stderr)}"
    for output in (ended.stdout, ended.stderr):
        if INTERNAL.search(output):
            return f"a failure of its own: {tail(ended.stderr or output)}"
    return None


def numbers(ended):
    """Of a JSON output: every number is one."""
    if ended.status not in (0, 1):
        return None
    try:
        json.loads(ended.stdout, parse_constant=refuse)
    except ValueError as error:
        return f"no JSON of numbers: {error}"
    return None


def refuse(constant):
    raise ValueError(f"{constant} in the output")


def text_numbers(ended):
    """Of a text output: no number that is none."""
    if ended.status == 0 and re.search(rb"(?i)(?<![a-z-])(nan|-?inf(inity)?)(?![a-z])", ended.stdout):
        return "nan or inf in the output"
    return None


def controls(output):
    """No raw control character in what a terminal would show."""
    found = CONTROLS.search(output.decode("utf-8", "replace"))
    return f"raw control character U+{ord(found.group()):04X} in the output" if found else None


def secret(output, marker):
    """No secret in an output."""
    at = output.find(marker)
    return f"a secret is shown: {output[max(at - 80, 0):at + 40]!r}" if at >= 0 else None


def answer(given, allowed=range(200, 500), max_seconds=None):
    """Answered in time, with a code where it is refused, and never with a failure of the server's own."""
    if given.status is None:
        return f"no answer: {given.body.decode('utf-8', 'replace')}"
    if given.status not in allowed:
        return f"status {given.status}: {tail(given.body)}"
    if given.seconds > (max_seconds or MAX_ANSWER_SECONDS):
        return f"took {given.seconds:.2f} s"
    if INTERNAL.search(given.body):
        return f"a failure of its own: {tail(given.body)}"
    return code(given) if given.status >= 400 else None


def code(given):
    """A rejection has a code of the table's form."""
    try:
        found = json.loads(given.body)["code"]
    except (ValueError, KeyError, TypeError):
        return f"status {given.status} without a code: {tail(given.body)}"
    return None if CODE.match(found) else f"no code: {found!r}"


def refused(given, allowed):
    """Refused with one of the statuses that are allowed, and a code."""
    if given.status not in allowed:
        return f"status {given.status}, not {sorted(allowed)}: {tail(given.body)}"
    return code(given)


def address(state, failure):
    """An asset at a forbidden address: refused with a code, or not found; never fetched."""
    if state == "done":
        return "was fetched"
    if failure is None:
        return f"is {state} without a code"
    return None if CODE.match(failure) and failure != "worker.internal" else f"is {state} with {failure}"


def tail(output, limit=500):
    return output[-limit:].decode("utf-8", "replace")
