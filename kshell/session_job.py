"""The part of a session that deals with the other processes of its job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from kshell.errors import QError
    from kshell.values.base.core import Value


class JobMixin:
    """The part of a session that deals with the other processes of its job."""

    if TYPE_CHECKING:
        last_error: QError | None

        @property
        def output(self) -> TextIO: ...
        @property
        def errors(self) -> TextIO: ...

        def _guarded(self, work: Callable[..., Value], *args: Any) -> Value: ...

    @property
    def rank(self) -> int:
        """The number of this process in its job, 0 without one."""
        from kshell.kapi.distributed.processes import group

        return group.rank()

    def join(self, timeout: float | None = None, verbose: bool = False) -> None:
        """Join the job that this process was started for; errors are as for `run`."""
        from kshell.kapi.distributed import processes

        self._guarded(processes.join, self, self.output, self.errors, timeout, verbose)

    def leave(self, well: bool) -> None:
        """Leave the job."""
        from kshell.kapi.distributed import processes

        processes.leave(well, "" if self.last_error is None else self.last_error.text)

    def console(self) -> Any:
        """The console of the job's processes."""
        from kshell.kapi.distributed import processes

        return processes.console()

    def report(self, text: str) -> None:
        """Report an error of several processes on standard error."""
        from kshell.kapi.distributed import processes

        self.output.flush()
        processes.report(self.errors, text)
