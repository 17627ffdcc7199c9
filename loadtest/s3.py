"""How fast a catalog is stored in a bucket, as a ratio to rclone and to the server's own limit.

Started by loadtest/s3. Standard library only. The runs of all alternate, and each uses a prefix of its own. The server has
one half of the CPUs, and each client the other half, with all that it needs: dray with its origin and its PostgreSQL.
So the server's limit is the same for each of them.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

BLOCK = 1 << 20
PART = 16 << 20


def arguments():
    parser = argparse.ArgumentParser(prog="loadtest/s3", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=20_000, help="small files (20000)")
    parser.add_argument("--bytes", type=int, default=65_536, help="size of each (65536)")
    parser.add_argument("--large", type=int, default=4 << 30, help="size of the large file (4294967296)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of all (1)")
    parser.add_argument("--connections", type=int, default=32, help="concurrent uploads of both (32)")
    parser.add_argument("--max-small", type=float, default=1.2, metavar="RATIO",
                        help="fail when the small files take longer than RATIO times rclone's time (1.2)")
    parser.add_argument("--min-large", type=float, default=0.9, metavar="RATIO",
                        help="fail when the large file's rate is below RATIO times the server's limit (0.9)")
    parser.add_argument("--share-cpus", action="store_true",
                        help="let the server and its clients share all CPUs, instead of half for each")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    for name in ("work", "files-directory", "origin", "gateway", "dray"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.files < 0 or options.large < 0 or not 1 <= options.rounds <= 100:
        parser.error("--files and --large take 0 or more, --rounds 1 to 100")
    return options


def make_file(path, size, generator):
    with open(path, "wb") as file:
        while size > 0:
            file.write(generator.randbytes(min(size, BLOCK)))
            size -= BLOCK


class Run:
    """Both programs against one gateway."""

    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work)
        self.origin = pathlib.Path(options.files_directory)
        self.environment = dict(
            os.environ, AWS_ACCESS_KEY_ID="draytest", AWS_SECRET_ACCESS_KEY="draytestsecret",
            AWS_EC2_METADATA_DISABLED="true", RCLONE_CONFIG_T_TYPE="s3", RCLONE_CONFIG_T_PROVIDER="Ceph",
            RCLONE_CONFIG_T_ENDPOINT=options.gateway, RCLONE_CONFIG_T_ENV_AUTH="true",
            RCLONE_CONFIG=str(self.work / "rclone.conf"))
        self.environment.pop("AWS_CA_BUNDLE", None)
        (self.work / "rclone.conf").touch()
        self.call("rclone", "mkdir", "T:edge")

    def call(self, *command):
        begun = time.monotonic()
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"loadtest/s3: {command[0]} failed:\n{done.stdout.decode(errors='replace')[-2000:]}")
        return time.monotonic() - begun

    def limit(self, size, prefix):
        """Bytes per second of plain PUTs of 16 MiB from a file in memory, eight at a time.

        They are signed as Dray's, so that the server hashes them as well. Their client does not: all have one hash.
        """
        count = max(size // PART, 8)
        part = self.work / "part"
        make_file(part, PART, random.Random(2))
        digest = hashlib.sha256(part.read_bytes()).hexdigest()
        transfers = "".join(
            f"upload-file = \"{part}\"\nurl = \"{self.options.gateway}/edge/{prefix}/{number}\"\n"
            for number in range(count))
        settings = self.work / "curl.conf"
        settings.write_text(
            "parallel\nparallel-max = 8\nfail-early\nsilent\nshow-error\nfail\nno-progress-meter\n"
            "aws-sigv4 = \"aws:amz:us-east-1:s3\"\nuser = \"draytest:draytestsecret\"\nexpect100-timeout = 0.01\n"
            f"header = \"x-amz-content-sha256: {digest}\"\n" + transfers)
        seconds = self.call("curl", "--config", str(settings))
        self.clear(prefix)
        return count * PART / seconds

    def rclone(self, source, prefix):
        connections = str(self.options.connections)
        seconds = self.call(
            "rclone", "copy", "--transfers", connections, "--checkers", connections, "--no-traverse",
            "--s3-upload-concurrency", "4", "--s3-chunk-size", "16M", "--s3-no-check-bucket",
            str(source), f"T:edge/{prefix}")
        self.clear(prefix)
        return seconds

    def dray(self, names, prefix):
        listed = self.work / f"{prefix}.txt"
        listed.write_text("".join(f"{self.options.origin}/{name}\n" for name in names))
        seconds = self.call(
            self.options.dray, "prefetch", str(listed), "--to", f"s3://edge/{prefix}?endpoint={self.options.gateway}",
            "--state", str(self.work / "tmp" / prefix), "--connections", str(self.options.connections), "--quiet")
        self.clear(prefix)
        return seconds

    def clear(self, prefix):
        self.call("rclone", "purge", f"T:edge/{prefix}")
        # The gateway frees the bytes of large objects two hours later by itself.
        self.call("radosgw-admin", "-c", str(self.work / "ceph" / "ceph.conf"), "-n", "client.admin",
                  "gc", "process", "--include-all")


def compare(run, source, names, what, rounds):
    pairs = []
    for number in range(rounds):
        pairs.append((run.rclone(source, f"{what}-r{number}"), run.dray(names, f"{what}-d{number}")))
        print(f"{what}: rclone {pairs[-1][0]:.1f} s, dray {pairs[-1][1]:.1f} s, "
              f"ratio {pairs[-1][1] / pairs[-1][0]:.2f}", flush=True)
    return {"rclone_seconds": [pair[0] for pair in pairs], "dray_seconds": [pair[1] for pair in pairs],
            "ratio": statistics.median(dray / rclone for rclone, dray in pairs)}


def large(run, options, generator):
    """A large file, against the server's limit."""
    (run.origin / "large").mkdir()
    make_file(run.origin / "large" / "file.mp4", options.large, generator)
    # Not while something is measured.
    os.sync()
    pairs = []
    for number in range(options.rounds):
        limit = run.limit(options.large, f"limit{number}")
        rate = options.large / run.dray(["large/file.mp4"], f"large-d{number}")
        pairs.append((limit, rate))
        print(f"large: the server's limit {limit / 1e6:.0f} MB/s, dray {rate / 1e6:.0f} MB/s, "
              f"ratio {rate / limit:.2f}", flush=True)
    return {"limit_bytes_per_second": [pair[0] for pair in pairs],
            "bytes_per_second": [pair[1] for pair in pairs],
            "ratio": statistics.median(rate / limit for limit, rate in pairs)}


def main():
    options = arguments()
    generator = random.Random(1)
    run = Run(options)
    origin = run.origin
    figures, failures = {}, []
    if options.files:
        (origin / "small").mkdir()
        for number in range(options.files):
            make_file(origin / "small" / f"{number}.ts", options.bytes, generator)
        os.sync()
        names = [f"small/{number}.ts" for number in range(options.files)]
        figures["small"] = compare(run, origin / "small", names, "small", options.rounds)
        if figures["small"]["ratio"] > options.max_small:
            failures.append(f"the small files took {figures['small']['ratio']:.2f} times rclone's time")
    if options.large:
        figures["large"] = large(run, options, generator)
        if figures["large"]["ratio"] < options.min_large:
            failures.append(f"the large file reached {figures['large']['ratio']:.2f} of the server's limit")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    for failure in failures:
        print(f"loadtest/s3: {failure}", file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
