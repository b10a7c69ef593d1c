"""The port in a program that has an event loop of its own: a prompt, a notebook, a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from kshell.ipc.network import Network


async def arrivals(network: Network) -> AsyncIterator[None]:
    """An item each time that a turn of a network has something to do."""
    import asyncio  # brings ssl

    arrived, loop, file = asyncio.Event(), asyncio.get_running_loop(), network.selector.fileno()
    loop.add_reader(file, arrived.set)
    try:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(arrived.wait(), network.patience(None))
            arrived.clear()
            yield
    finally:
        loop.remove_reader(file)
