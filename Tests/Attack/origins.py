"""Origins for workers: one with chosen answers, and a canary that must get no request."""

import asyncio
import socket
import threading


class Loop:
    """An event loop on a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def close(self):
        self.call(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    @staticmethod
    async def end():
        """Ends running answers."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Origin:
    """Answers each path with the bytes that `respond` returns for it; keeps connections open."""

    def __init__(self, address, respond):
        self.respond = respond
        self.asked = []
        self.work = Loop()
        self.server = self.work.call(asyncio.start_server(self.converse, address, 0, backlog=1024, limit=1 << 20))
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://{address}:{self.port}"

    async def converse(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                self.asked.append(path)
                answer = self.respond(path)
                if answer is None:
                    await asyncio.sleep(3_600)
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def close(self):
        self.work.loop.call_soon_threadsafe(self.server.close)
        self.work.close()


def ok(body, kind="application/octet-stream"):
    return (f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


def moved(location):
    return b"HTTP/1.1 302 Found\r\nLocation: " + location.encode("utf-8", "surrogatepass") + \
        b"\r\nContent-Length: 0\r\n\r\n"


class Canary:
    """Listens on every address of this machine; records connections and their first bytes."""

    def __init__(self):
        self.seen = []
        self.sockets = []
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            listener = socket.socket(family)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address, self.sockets[0].getsockname()[1] if self.sockets else 0))
            listener.listen(64)
            self.sockets.append(listener)
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
        self.port = self.sockets[0].getsockname()[1]

    def accept(self, listener):
        while True:
            try:
                connection, peer = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    said = connection.recv(400)
                except OSError:
                    said = b""
                self.seen.append((peer[0], said))

    def close(self):
        for listener in self.sockets:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
