# SPDX-License-Identifier: Apache-2.0
"""A network that a test can cut: passes connections on to a loopback port until it is told not to. Standard library only."""
import asyncio
import threading


class Proxy:
    """Listens on `port` from the beginning; use it in a `with`. cut() and mend() come from the test's thread."""

    def __init__(self, target):
        self.target, self.writers = target, set()
        self.loop, self.refusing = asyncio.new_event_loop(), False
        self.passing = asyncio.Event()
        self.passing.set()
        self.listener = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = self.listener.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def cut(self, silently):
        """Silently: everything stays open and nothing passes, as when packets are lost. Otherwise connections end, and each new one does at once."""
        self.tell(self.passing.clear if silently else self.refuse)

    def mend(self):
        """What was held back in silence passes now."""
        self.tell(self.open)

    def tell(self, act):
        """Runs it on the loop's thread, and waits for it."""
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (act(), done.set()))
        done.wait()

    # --- the loop's thread

    def refuse(self):
        self.refusing = True
        for writer in self.writers:
            writer.transport.abort()

    def open(self):
        self.refusing = False
        self.passing.set()

    async def end(self):
        self.listener.close()
        self.refuse()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        self.writers.add(writer)
        try:
            await self.passing.wait()
            if self.refusing:
                return
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
            self.writers.add(far_writer)
            await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer))
            self.writers.discard(far_writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self.writers.discard(writer)
            writer.transport.abort()

    async def carry(self, reader, writer):
        """One direction, to its end; an end is held back in silence as well."""
        try:
            while data := await reader.read(1 << 16):
                await self.passing.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        await self.passing.wait()
        writer.close()
