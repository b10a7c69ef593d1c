"""The side of a session that talks to other processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class PortMixin:
    """The part of a session that listens on a port and connects to others."""

    if TYPE_CHECKING:
        ipc: Any

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

    def restrict_clients(self, users: str = "", read_only: bool = False, log: str = "") -> None:
        """Let only the users in a file connect, if one is named; let those who connect change nothing, if so asked;
        write what happens on the port to a log, if one is named."""
        self._guarded(lambda: self.use_ipc().restrict(users, read_only, log))

    def end_ipc(self) -> None:
        """Stop listening and close the connections, if there are any."""
        if self.ipc is not None:
            self.ipc.network.close()

    def serve(self, seconds: float | None = None) -> None:
        """Handle the messages of other processes for so many seconds, or until an interrupt."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while self.ipc is not None and (deadline is None or time.monotonic() < deadline):
            self.ipc.network.turn(
                None if deadline is None else max(0.0, deadline - time.monotonic())
            )
