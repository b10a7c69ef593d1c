"""Many clients at once against a port: `python -m tests.ipc.load PORT CLIENTS REQUESTS` prints what went wrong as JSON.

Of the clients, one in twenty each ends in the middle of a message, reads slowly, or sends garbage; the others send requests
of several kinds and compare each answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import struct
import sys

SLOW = 0.02  # seconds between the reads of a slow client
LOGIN = b"me:\x03\0"


def text(s: str) -> bytes:
    data = s.encode()
    return b"\x0a\0" + struct.pack("<i", len(data)) + data


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("<BBHI", 1, kind, 0, 8 + len(body)) + body


def longs(values: list[int]) -> bytes:
    return b"\x07\0" + struct.pack(f"<i{len(values)}q", len(values), *values)


def request(rng: random.Random) -> tuple[bytes, bytes]:
    """A request and the body of its answer."""
    k = rng.randrange(1_000_000)
    kind = rng.randrange(5)
    if kind == 0:
        return text(f"{k}+1"), b"\xf9" + struct.pack("<q", k + 1)
    if kind == 1:
        return text(f"'\"e{k}\""), b"\x80" + f"e{k}".encode() + b"\0"
    if kind == 2:
        return text(f"{k}+til 200"), longs([k + i for i in range(200)])
    if kind == 3:  # a function and its argument
        return b"\0\0" + struct.pack("<i", 2) + text("neg") + b"\xf9" + struct.pack("<q", k), b"\xf9" + struct.pack("<q", -k)
    return text(f"`s{k}"), b"\xf5" + f"s{k}".encode() + b"\0"


class Client:
    """One client; `wrong` collects the answers that were not right."""

    def __init__(self, port: int, number: int, count: int, wrong: list[str]) -> None:
        self.port, self.count, self.wrong = port, count, wrong
        self.rng = random.Random(number)
        self.kind = ("broken", "slow", "garbage")[number % 20] if number % 20 < 3 else "right"

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(LOGIN)
        assert await reader.readexactly(1) == b"\3"
        try:
            await self._talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            if self.kind != "garbage":
                self.wrong.append(f"{self.kind}: closed")
        writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        last = self.rng.randrange(self.count) if self.kind in ("broken", "garbage") else self.count
        done = 0
        while done < last:
            several = [request(self.rng) for _ in range(min(20 if self.kind == "slow" else 1, last - done))]
            for body, _ in several:
                writer.write(message(1, body))
            for body, answer in several:
                if self.kind == "slow":
                    await asyncio.sleep(SLOW)
                head = await reader.readexactly(8)
                found = await reader.readexactly(struct.unpack_from("<I", head, 4)[0] - 8)
                if found != answer or head[1] != 2:
                    self.wrong.append(f"{body!r}: {found[:80]!r}")
            done += len(several)
        if self.kind == "broken":
            writer.write(message(1, text("x" * 1000))[: self.rng.randrange(1, 900)])
            await writer.drain()
            writer.transport.abort()
        elif self.kind == "garbage":
            writer.write(self.rng.randbytes(200))
            await reader.read()  # the server ends it, if what came is a whole message


async def main(port: int, clients: int, count: int) -> list[str]:
    wrong: list[str] = []
    async with asyncio.timeout(500):
        tasks = [asyncio.create_task(Client(port, number, count, wrong).run()) for number in range(clients)]
        garbage = [task for number, task in enumerate(tasks) if number % 20 == 2]
        await asyncio.gather(*(task for task in tasks if task not in garbage))
        for task in garbage:  # the beginning of a long message that never ends
            task.cancel()
        await asyncio.gather(*garbage, return_exceptions=True)
    return wrong


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*map(int, sys.argv[1:4])))))
