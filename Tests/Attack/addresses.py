"""Spellings of addresses that a worker of a cluster must not connect to, in lists, redirects and playlists."""

import ipaddress
import re
import socket
import time

from . import oracles
from .lab import ORIGIN_ADDRESS
from .origins import Canary, Origin, moved, ok

#: IANA's registries of special-purpose addresses, and what else is never an origin.
BLOCKS4 = ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
           "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
           "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
           "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
           "240.0.0.0/4", "255.255.255.255/32", "100.100.100.200/32", "168.63.129.16/32")
BLOCKS6 = ("::/128", "::1/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
           "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32",
           "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48",
           "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128",
           "fd20:ce::254/128")
LOOPBACKS = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "169.254.169.254", "10.0.0.1",
             "172.17.0.1", "192.168.1.1", "169.254.170.2", "192.0.0.192")
#: Names that lead to this machine, and some that only look as if they did.
NAMES = ("localhost", "LOCALHOST", "localhost.", "lOcAlHoSt", "localhost.localdomain", "ip6-localhost",
         "ip6-loopback", "a.localhost", "local%68ost", "localhost%00.example", "localhost%2e", "[localhost]",
         "localhost%20", "l\u00f6calhost", "\uff4cocalhost",
         "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "localhost\u3002", "localhos\u200dt",
         "xn--localhost-")
PATIENCE = 60
#: An address or a name, and a port or none.
PLAIN_HOST = re.compile(r"([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")


def attack(lab, record):
    lab.start_cluster()
    canary = Canary()
    urls = []
    origin = Origin(ORIGIN_ADDRESS, lambda path: respond(path, urls))
    worker = lab.start_worker("addresses", "--allow-addresses", ORIGIN_ADDRESS, "--connections", "200",
                              environment={"DRAY_LOG": "error"})
    try:
        attempt(lab, record, canary, origin, urls)
        record.judge("the worker", None if worker.poll() is None else f"the worker ended: {worker.poll()}")
        log = worker.log.read_bytes()
        record.judge("the worker's log", oracles.controls(log) or oracles.secret(log, b"SECRET"))
    finally:
        lab.stop(worker)
        origin.close()
        canary.close()
    record.judge("the canary", canary_fault(canary.seen))


def canary_fault(seen):
    return f"{len(seen)} connections to a forbidden address, the first {seen[0]!r}" if seen else None


def respond(path, urls):
    kind, _, number = path.strip("/").partition("/")
    if kind == "redirect":
        return moved(urls[int(number)])
    if kind == "playlist.m3u8":
        lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:6"]
        for url in urls[:: max(1, len(urls) // 600)]:
            if '"' not in url:
                lines += [f'#EXT-X-MAP:URI="{url}"', f'#EXT-X-KEY:METHOD=AES-128,URI="{url}"', "#EXTINF:6,", url]
        return ok("\n".join([*lines, "#EXT-X-ENDLIST", ""]).encode("utf-8", "surrogatepass"),
                  "application/vnd.apple.mpegurl")
    return ok(b"good")


def attempt(lab, record, canary, origin, urls):
    random = record.random()
    found = sorted(set(spelled(canary.port)))
    urls += found if not record.is_short else random.sample(found, 700)
    names = [f"http://{name}:{canary.port}/" for name in (NAMES if not record.is_short else NAMES[:6])]
    _, storage = lab.site("addresses")
    sources = [(url, url) for url in urls + names]
    sources += [(f"{origin.url}/redirect/{number}", f"a redirect to {urls[number]}")
                for number in range(0, len(urls), 2)]
    rows = [{"name": f"n{index}", "url": url, "kind": "file", "key": f"k/{index}"}
            for index, (url, _) in enumerate(sources)]
    rows.append({"name": "honest", "url": f"{origin.url}/honest", "kind": "file", "key": "honest"})
    rows.append({"name": "playlist", "url": f"{origin.url}/playlist.m3u8", "kind": "hls", "key": "p/playlist.m3u8"})
    catalog, refused = lab.submit("addresses", storage, [row for row in rows if is_plain(row["url"])],
                                  doubtful=[row for row in rows if not is_plain(row["url"])])
    for part, answer in refused:
        record.judge(part[0]["url"], oracles.refused(answer, {400}))
        if len(part) > 1:
            record.fail(part[:2], f"a batch was refused: {answer.body!r}")
    given_up = {row["name"] for part, _ in refused for row in part}
    # A name that is not found is tried again, so what is left in the end has been tried and was not fetched.
    asked = {given for _, given in sources if is_name(given)}
    wait(lab, catalog, len(asked))
    states = dict(line.split("\t", 1) for line in lab.sql(
        f"SELECT name, state || E'\\t' || coalesce(failure_code, '') FROM dray.asset WHERE catalog_id = {catalog}"
    ).split("\n"))
    for index, (_, given) in enumerate(sources):
        if f"n{index}" in given_up:
            continue
        state, code = states[f"n{index}"].split("\t")
        record.judge(given, oracles.address(state, code or ("origin.dns" if given in asked else None)))
    record.judge("an honest file", None if states["honest"].startswith("completed") else states["honest"])
    playlist = states["playlist"].split("\t")
    record.judge("a playlist of them", oracles.address(playlist[0], playlist[1] or None))


def is_name(url):
    """Whether a resolver is asked for its host: such a URL is tried again for a while."""
    host = url.split("//", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
    if host.startswith("["):
        return False
    try:
        socket.inet_aton(re.sub(r":\d+$", "", host))
    except (OSError, UnicodeError):
        return True
    return False


def wait(lab, catalog, names):
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        left = int(lab.sql(
            f"SELECT count(*) FROM dray.asset WHERE catalog_id = {catalog} AND state NOT IN ('completed', 'failed')"))
        if left <= names:
            if left == 0 or names_tried(lab, catalog):
                return
        time.sleep(0.3)


def names_tried(lab, catalog):
    return lab.sql(
        f"SELECT count(*) FROM dray.asset a WHERE catalog_id = {catalog} AND state NOT IN ('completed', 'failed') "
        f"AND NOT EXISTS (SELECT FROM dray.delayed_job d WHERE d.asset_id = a.id)") == "0"


def is_plain(url):
    """Whether the API has no reason to refuse it: others are submitted one by one."""
    host = url.split("//", 1)[-1].split("/", 1)[0]
    return url.startswith(("http://", "https://")) and PLAIN_HOST.fullmatch(host) is not None and url.isprintable()


# MARK: Spellings

def spelled(port):
    for host in hosts():
        if not is_forbidden(host):
            continue
        yield f"http://{host}:{port}/"
        yield f"https://{host}:{port}/"
    for host in ("127.0.0.1", "[::1]", "0x7f000001", "2130706433"):
        yield from confused(host, port)


def confused(host, port):
    """URLs that two readers take for different hosts."""
    there = f"{host}:{port}"
    yield from (f"http://{host}", f"http://{host}/", f"http://{host}:/", f"http://{host}:0{port}/",
                f"http://user@{there}/", f"http://user:SECRET@{there}/", f"http://example.com@{there}/",
                f"http://example.com:80@{there}/", f"http://example.com%23@{there}/",
                f"http://example.com%2f@{there}/", f"http://{ORIGIN_ADDRESS}@{there}/",
                f"http://{ORIGIN_ADDRESS}%20@{there}/", f"http://a:b@c:d@{there}/", f"http://@{there}/",
                f"http://:@{there}/", f"http://{there}#@example.com/", f"http://{there}?@example.com/",
                f"http://{there}\\@example.com/", f"http://{there}%2f@{ORIGIN_ADDRESS}:1/",
                f"http://{there};@{ORIGIN_ADDRESS}:1/", f"http:////{there}/", f"http:///{there}/", f"http:{there}/",
                f"http://\\{there}/", f"hTTp://{there}/", f"http://{there}/..;/",
                f"http://[::ffff:7f00:1]:{port}@{there}/", f"http://{ORIGIN_ADDRESS}\t@{there}/",
                f"http://{there}\r\nHost: a/", f"http://{ORIGIN_ADDRESS}&@{there}#@{ORIGIN_ADDRESS}/",
                f"http://{there}/%0d%0aHost:%20a", f"http://{there}/?url=http://{there}/", f"//{there}/",
                f"ftp://{there}/", f"gopher://{there}/", f"file:///etc/passwd", f"dict://{there}/",
                f"ldap://{there}/", f"tftp://{there}/", f"smb://{there}/", f"telnet://{there}/",
                f"data:text/plain,x", f"javascript:x", f"unix:///tmp/x", f"http+unix://%2ftmp%2fx/",
                f"jar:http://{there}!/", f"ws://{there}/", f"https+http://{there}/", f"view-source:http://{there}/",
                f"http://{there}:{port}/", f"http://{host}:{port}:80/", f"http://{host}:99999/",
                f"http://{host}:{port + 65_536}/", f"http://{host}:-1/", f"http://{host}:0x{port:x}/",
                f"http://{host}%3a{port}/")


def hosts():
    for block in BLOCKS4:
        network = ipaddress.ip_network(block)
        for address in edges(network):
            yield from spellings4(str(address))
    for address in LOOPBACKS:
        yield from spellings4(address)
        # A name to resolvers, which takes them time.
        yield address + "."
    for block in BLOCKS6:
        network = ipaddress.ip_network(block)
        for address in edges(network):
            yield from spellings6(address)


def edges(network):
    first, last = int(network.network_address), int(network.broadcast_address)
    return {
        type(network.network_address)(number)
        for number in (first, first + (last - first) // 2, last, min(first + 1, last))
    }


def spellings4(text):
    a, b, c, d = (int(part) for part in text.split("."))
    number = int(ipaddress.IPv4Address(text))
    tail3, tail2 = number & 0xFFFFFF, number & 0xFFFF
    yield from (text, str(number), hex(number), hex(number).upper().replace("X", "x"), f"0X{number:X}",
                f"0x{number:016x}", f"0{number:o}", f"000{number:o}", f"{a}.{tail3}", f"{a}.{b}.{tail2}",
                f"0x{a:x}.{tail3}", f"0{a:o}.{tail3}", f"{a}.0x{tail3:x}", f"{a}.0{tail3:o}",
                f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0x{a:02x}.0x{b:02x}.0x{c:02x}.0x{d:02x}",
                f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"0000{a:o}.0{b:o}.{c}.0x{d:x}", f"{a}.0x{b:x}.0{c:o}.{d}",
                f"{a}.{b}.0x{tail2:x}", f"{a}.{b}.0{tail2:o}", f"0x{a:x}.{b}.{tail2}", f"{a}.{b}.{c}.0x{d:x}",
                f"{a}.{b}.{c}.0{d:o}", "".join(f"%{ord(char):02x}" for char in text), text.replace(".", "%2e"),
                text.replace(".", "%2E",
                             1), "".join(f"%{ord(char):02X}" for char in str(number)), f"%30x{number:x}",
                )
    high, low = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    for prefix in ("::ffff:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "2001:db8::5efe:", "fe80::5efe:",
                   "fe80::200:5efe:", "64:ff9b:1:1::", "0:0:0:0:0:ffff:", "0000:0000:0000:0000:0000:FFFF:",
                   "::FFFF:"):
        yield f"[{prefix}{text}]"
        yield f"[{prefix}{high}:{low}]"
    yield f"[2002:{high}:{low}::]"
    yield f"[2002:{high}:{low}::1]"
    yield f"[2002:{number >> 16:04X}:{number & 0xFFFF:04X}:0:0:0:0:1]"
    yield f"[2001:0:{high}:{low}:0:0:{(~number >> 16) & 0xFFFF:x}:{~number & 0xFFFF:x}]"
    yield f"[64:ff9b:1:{high}:{number >> 8 & 0xFF:x}:{(number & 0xFF) << 8:x}::]"
    yield f"[::ffff:{high}:{low}%25lo]"
    yield f"[::ffff:{text}%25lo]"
    yield f"[::ffff:{text}%lo]"


def spellings6(address):
    text, whole = address.compressed, address.exploded
    short = ":".join(f"{int(part, 16):x}" for part in whole.split(":"))
    mixed = ":".join(short.split(":")[:6]) + ":" + str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    for form in (text, whole, short, text.upper(), whole.upper(), mixed):
        yield f"[{form}]"
    yield f"[{text}%25lo]"
    yield f"[{text}%lo]"
    yield f"[{text}%25]"
    yield f"%5b{text}%5d"


def is_forbidden(host):
    """Whether what the system makes of a host, if anything, is an address that must not be asked.

    A spelling that leads to a public address by accident is left out: these attacks stay on this machine.
    """
    try:
        number = ipaddress.IPv4Address(socket.inet_aton(host.removesuffix(".")))
    except (OSError, UnicodeError):
        return True
    return any(number in ipaddress.ip_network(block) for block in BLOCKS4)
