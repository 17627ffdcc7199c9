"""An origin on loopback for load tests: it notes when each answer began and ended."""

import asyncio
import threading
import time


class Origin:
    """Listens from its creation to the end of the process, in a thread of its own.

    A subclass has `answer(path, began, writer)`, which writes an answer to the request of `path`, of bytes, that came
    at the monotonic time `began`.
    """

    def __init__(self):
        #: Monotonic times: when requests came, and pairs of when answers began and ended.
        self.requests, self.answers = [], []
        #: Connections now, and at most since `begin`.
        self.open, self.peak = 0, 0
        started = threading.Event()
        self.loop = asyncio.new_event_loop()

        async def serve():
            server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()

        def run():
            self.loop.run_until_complete(serve())
            self.loop.run_forever()

        threading.Thread(target=run, daemon=True).start()
        started.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def begin(self):
        """Forgets what was noted."""
        self.requests, self.answers, self.peak = [], [], self.open

    async def handle(self, reader, writer):
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = time.monotonic()
                self.requests.append(began)
                await self.answer(head.split(b" ", 2)[1], began, writer)
                await writer.drain()
                self.answers.append((began, time.monotonic()))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()
