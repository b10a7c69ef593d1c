"""The side of a session that talks to other processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kshell.errors import as_qerror
from kshell.lang.compiler.compile import check_stores
from kshell.values.session import context, memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from kshell.values.change.names import Names


class PortMixin:
    """The part of a session that listens on a port and connects to others."""

    if TYPE_CHECKING:
        ipc: Any
        names: Names
        hosted: bool
        _runs: int

        def _restricted(self, work: Callable[..., Any], *args: Any) -> Any: ...
        def _guarded(self, work: Callable[..., Any], *args: Any) -> Any: ...

    def use_ipc(self) -> Any:
        """The connections to other processes, for which the network is ready from then on."""
        if self.ipc is None:
            from kshell.ipc.port import Port

            self.ipc = Port(self)  # type: ignore[arg-type]
        return self.ipc

    def listen(self, port: int | str = "0W") -> int:
        """Listen on a port, in any form that `\\p` takes; which one it is. 0 stops. Messages are handled in `serve`,
        and while the session runs q."""
        self._guarded(lambda: self.use_ipc().listen(str(port)))
        return int(self.ipc.number)

    def restrict_clients(
        self,
        *,
        users: str = "",
        read_only: bool = False,
        log: str = "",
        token: str = "",
        confined: bool = False,
        is_open: bool = False,
        plain: bool = False,
        log_queries: bool = False,
    ) -> None:
        """Set rules for those who connect. `users`: the file of those who may; `token`: the file of a token that lets
        anybody in, made if it is not there; `is_open`: everybody may connect, `plain`: with a password that is not
        encrypted; `read_only`: they change nothing; `confined`: they use files of the current folder alone, and run
        nothing; `log`: the file to which is written what happens on the port, with what they send if
        `log_queries`."""
        self._guarded(
            lambda: self.use_ipc().restrict(
                users=users,
                read_only=read_only,
                log=log,
                token=token,
                confined=confined,
                is_open=is_open,
                plain=plain,
                log_queries=log_queries,
            )
        )

    def log_updates(self, base: str, *, synced: bool = False) -> None:
        """Log what clients change in `base`.log, with `synced` on the disk before it is answered. Messages wait until
        `replay_updates`, to be called when the program's own variables are there."""
        self._guarded(lambda: self.use_ipc().log_updates(base, synced))

    def replay_updates(self) -> None:
        """Bring back what is in the checkpoint, `base`.qdb, and the log."""
        self._guarded(lambda: self.use_ipc().replay_updates())

    def handle(self, work: Callable[..., Any], *args: Any, restricted: bool = False) -> Any:
        """Do what a message asks for, between two lines or inside of one, restricted as a read-only session is if so
        asked; its errors are those of `run`."""
        if restricted:
            check_stores(self.names)
            return self.handle(self._restricted, work, *args)
        if self._runs and context.perhaps() is self:
            return self._within(work, *args)
        return self._guarded(work, *args)

    def _within(self, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args) inside of a line, which its errors must not end: they are q errors for whoever asked for it."""
        try:
            return work(*args)
        except Exception as e:
            problem = as_qerror(e)
            e.__traceback__ = None  # its frames hold the arguments
        memory.recover()
        raise problem

    def end_ipc(self) -> None:
        """Stop listening and close the connections, if there are any."""
        if self.ipc is not None:
            self.ipc.network.close()

    async def serving(self) -> None:
        """Handle the messages of other processes while this runs, as a task of an event loop:
        `task = asyncio.create_task(session.serving())`. A client's `exit` is refused: the program is not the
        client's to end."""
        async for _ in self.use_ipc().arrivals():
            self.ipc.network.turn(0.0)

    def serve(self, seconds: float | None = None) -> None:
        """Handle the messages of other processes for so many seconds, or until an interrupt. A client's `exit` is
        refused, as in `serving`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.ipc is not None and (deadline is None or time.monotonic() < deadline):
            self.ipc.network.turn(
                None if deadline is None else max(0.0, deadline - time.monotonic())
            )
