"""The downloaders that compare.py runs: their files, their commands, and what came of them."""

import filecmp
import pathlib
import random
import shlex

FILES_PER_DIRECTORY = 100
PLAYLIST = "index.m3u8"
# Makes one file of a title.
STREAMLINK = "streamlink"


def path_of(index):
    return f"{index // FILES_PER_DIRECTORY:04d}/{index:06d}.bin"


def make_files(root, count, size):
    """Files of pseudo-random bytes, no two alike, the same on every run."""
    block = random.Random(1).randbytes(min(size, 64 << 20))
    for index in range(count):
        path = root / path_of(index)
        if index % FILES_PER_DIRECTORY == 0:
            path.parent.mkdir(parents=True)
        with open(path, "wb") as file:
            file.write(index.to_bytes(16, "big") + block[16:])
            # A longer body repeats the block, marked with its position each time.
            for place in range(len(block), size, len(block)):
                file.write((place.to_bytes(16, "big") + block[16:])[:size - place])


def make_playlist(root, count):
    """A media playlist of the files, beside them."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:4", "#EXT-X-PLAYLIST-TYPE:VOD"]
    for index in range(count):
        lines += ["#EXTINF:4.000,", path_of(index)]
    (root / PLAYLIST).write_text("\n".join(lines + ["#EXT-X-ENDLIST", ""]))


class Tool:
    """One downloader: its input file, its command, and where it puts path_of(index)."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.work = pathlib.Path(options.work)
        self.input = self.work / f"{name}.input"

    def url(self, index):
        return f"{self.options.origin}/{path_of(index)}"

    def prepare(self, destination):
        lines = {
            "aria2": lambda i: f"{self.url(i)}\n out={path_of(i)}\n",
            "curl": lambda i: f'url="{self.url(i)}"\noutput="{destination}/{path_of(i)}"\n',
        }.get(self.name, lambda i: self.url(i) + "\n")
        with open(self.input, "w") as file:
            if self.options.hls and self.name == "dray":
                file.write(f"{self.options.origin}/{PLAYLIST}\n")
            else:
                file.writelines(lines(index) for index in range(self.options.files))

    def command(self, destination, run):
        match self.name:
            case "wget2":
                return ["wget2", "--quiet", "--max-threads=32", "--force-directories",
                        "--no-host-directories", "--no-robots", "-P", destination,
                        "-i", self.input]
            case "aria2":
                return ["aria2c", "--quiet", "-j32", "-x1", "--file-allocation=none",
                        "--disk-cache=0", "--auto-file-renaming=false", "-d", destination,
                        "-i", self.input]
            case "curl":
                return ["curl", "--silent", "--parallel", "--parallel-max", "50",
                        "--create-dirs", "--config", self.input]
            case "dray" | "other-dray":
                is_other = self.name == "other-dray"
                # A state directory of its own: its database may be of another version.
                return [self.options.other_dray if is_other else self.options.dray,
                        "prefetch", self.input, "--to", destination,
                        "--state", f"{self.options.state}/{self.name}",
                        "--name", f"round-{run}", "--quiet",
                        *shlex.split(self.options.dray_arguments)]
            case "streamlink":
                return ["streamlink", "--loglevel", "error", "--output", destination / "title.ts",
                        f"hls://{self.options.origin}/{PLAYLIST}", "best"]
            case "engine":
                return [self.options.dray, "benchmark", "transfer", self.input, "--to", destination]
            case "floor":
                return [self.work / "floor", self.input, destination]
            case "floor+sql":
                floor = shlex.join(map(str, [self.work / "floor", self.input, destination]))
                return [self.options.dray, "benchmark", "queue", "--segments", str(self.options.files),
                        "--segments-per-title", "1", "--origins", "1", "--directory",
                        self.options.state, "--beside", floor, "--json"]
            case "dd":
                source = self.work / "origin" / path_of(0)
                path = shlex.quote(str(destination / path_of(0)))
                return ["sh", "-c", f"mkdir -p $(dirname {path}) && "
                        f"dd if={shlex.quote(str(source))} of={path} bs=128k status=none"]
            case "curl-null":
                return ["curl", "--silent", "--output", "/dev/null", self.url(0)]
            case "curl-dgst":
                path = shlex.quote(str(destination / path_of(0)))
                return ["sh", "-c", f"mkdir -p $(dirname {path}) && "
                        f"curl --silent --output {path} {shlex.quote(self.url(0))} && "
                        f"openssl dgst -sha256 {path}"]
            case "h2load":
                return ["h2load", "--h1", "-n", str(self.options.files), "-c", "32", "-t", "2",
                        "-i", self.input]
        raise SystemExit(f"unknown tool: {self.name}")

    def root(self, destination):
        """Where path_of(0) lies: dray puts a directory of the host's name before the path."""
        if self.name not in ("dray", "other-dray", "engine"):
            return destination
        return destination / self.options.origin.removeprefix("http://")


def incomplete(tool, destination):
    """What is wrong with the files that came, every byte compared; None when nothing is."""
    if tool.name in ("h2load", "curl-null"):
        return None
    origin, root = tool.work / "origin", tool.root(destination)
    if tool.name == STREAMLINK:
        return difference(destination / "title.ts", origin, tool.options.files)
    if tool.options.hls and tool.name == "dray":
        if not filecmp.cmp(origin / PLAYLIST, root / PLAYLIST, shallow=False):
            return f"{PLAYLIST} differs from the origin's"
    for index in range(tool.options.files):
        path = path_of(index)
        try:
            if not filecmp.cmp(origin / path, root / path, shallow=False):
                return f"{path} differs from the origin's"
        except OSError as error:
            return f"{path}: {error.strerror}"
    filecmp.clear_cache()
    return None


def difference(path, origin, count):
    """What is wrong with a file that is to be all of the origin's, one after the other."""
    try:
        with open(path, "rb") as file:
            for index in range(count):
                expected = (origin / path_of(index)).read_bytes()
                if file.read(len(expected)) != expected:
                    return f"{path.name} differs from the origin's {path_of(index)}"
            return f"{path.name} is too long" if file.read(1) else None
    except OSError as error:
        return f"{path.name}: {error.strerror}"
