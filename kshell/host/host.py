"""A training program that answers queries: at a safe point, which is the end of an optimizer's step, its own thread
runs the q of the clients. Where steps stop coming, queries are answered inside a forward call."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from time import perf_counter
from types import FrameType
from typing import Any

from kshell.attach import place, process
from kshell.attach.sweeper import Sweeper
from kshell.errors import QError, first_line, message_of
from kshell.host import finding, ranks
from kshell.host.console import Console
from kshell.host.early import FORWARD, Early
from kshell.host.edits import Edits, seed_of
from kshell.host.guard import Guard
from kshell.host.idle import Idle
from kshell.host.objects.generators import Random
from kshell.host.plans import NEVER, Planned, Plans
from kshell.host.steps import Steps, resident
from kshell.host.variables import Variables
from kshell.host.watcher import Watcher
from kshell.host.watches import FINITE, Watch, Watches
from kshell.host.whole import GATHER, Whole
from kshell.python.session import Session

SOON = 1.0  # seconds for which nobody is answered while the program makes the steps of `step n`
PAUSED = 0.2  # seconds between two looks at whether a paused program goes on


class Host:
    """This program, once it listens."""

    def __init__(self, read_only: bool = False) -> None:
        place.made()
        place.tidy()
        self.read_only = read_only  # do clients change nothing?
        pid = os.getpid()
        self.paths: tuple[str, ...] = place.socket_of(pid), place.where_of(pid)
        self.listener, where = place.listen(self.paths[0]), place.listen(self.paths[1])
        self.sweeper = Sweeper(self.paths)
        self.steps = Steps()
        self.usual = self.steps.usual
        self.session: Session | None = None
        self.edits: Edits | None = None
        self.thread = 0  # the one that steps
        self.started = time.time()  # since 1970
        self._answered = 0.0  # when somebody was last answered, by the clock `perf_counter`
        self._quiet = 0.0  # until when nobody is answered, by that clock
        self.pausing: Any = None  # the connection that asked for a pause
        self.stack: list[FrameType] = []  # at the safe point, innermost first
        self._replaying = False  # is a file of edits read?
        self.serving = False  # is q running, or the program paused?
        self.variables = Variables()
        self._inside: Any = None  # the hook of forward calls, while a client waits for one
        self._stop: Callable[[], None] | None = None
        self.watches = Watches(_tell)
        self.fired: list[Watch] = []  # those that are to act
        self.guard = Guard(self)
        self.idle = Idle(self)
        self.early = Early(self)
        self.whole = Whole(self)
        self.watcher = Watcher(self, where)

    def begin(self) -> None:
        """Watch the steps, and answer."""
        self.steps.watch(self.stepped)
        self.watcher.start()
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forked)
        replay = os.environ.pop("KSHELL_REPLAY", "")
        if replay:
            self._replay(replay)

    def listen_on(self, port: str) -> None:
        """Listen on a port too."""
        (self.session or self._open()).listen(port)

    def end(self) -> None:
        """Listen no more, and leave no file."""
        if _HOST and _HOST[0] is self:
            _HOST.clear()
        atexit.unregister(self.end)
        self.watcher.end()
        self.idle.end()
        self.early.end()
        self.guard.unwatch()
        self.steps.unwatch()
        if self.session is not None:
            self.session.end_ipc()
        self.listener.close()
        self.watcher.sock.close()
        for path in self.paths:
            with suppress(OSError):
                os.unlink(path)
        self.sweeper.let_go()

    def _forked(self) -> None:
        """In a child: it does not listen; the files are its parent's."""
        if _HOST and _HOST[0] is self:
            _HOST.clear()
        atexit.unregister(self.end)
        self.guard.unwatch()
        self.steps.unwatch()
        self.watcher.ended = True
        self.listener.close()
        self.watcher.sock.close()
        self.sweeper.let_go()
        self.paths = ()
        self.early.end()
        if self._inside is not None:
            self._inside.remove()
        self.due = False
        self.steps.plan_anew()

    # ------------------------------------------------------------ safe points

    @property
    def due(self) -> bool:
        """Is something to be done at the next safe point?"""
        return self.steps.due

    @due.setter
    def due(self, on: bool) -> None:
        self.steps.due = on

    @property
    def plans(self) -> Plans:
        """What is planned for steps to come."""
        return self.steps.plans

    @property
    def last(self) -> float:
        """The last safe point, by the clock `perf_counter`; 0 if there was none."""
        return max(self._answered, self.steps.ended)

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        ident = get_ident()
        if ident != self.thread:
            if self.thread and any(t.ident == self.thread for t in threading.enumerate()):
                return  # a second thread that trains: the first one answers
            self.thread = ident
        self.steps.each = False
        if self.guard.finite is not None:
            self.guard.stepped(optimizer)
        is_planned = self.steps.number >= self.plans.next_step
        if is_planned or (self.due and perf_counter() >= self._quiet):
            self.safe_point("")

    def overdue(self) -> None:
        """A client waits, and no step ends: answer inside the next forward call."""
        if self._inside is None and not self.serving and "torch" in sys.modules:
            from torch.nn.modules.module import register_module_forward_pre_hook

            self._inside = register_module_forward_pre_hook(self._forward)

    def _forward(self, module: Any, args: Any) -> None:
        """A module is called, the outermost one first."""
        hook, self._inside = self._inside, None
        if hook is None or threading.get_ident() != (self.thread or threading.get_ident()):
            self._inside = hook
            return
        hook.remove()
        self.thread = threading.get_ident()
        self.safe_point(FORWARD)

    def safe_point(self, frozen: str) -> None:
        """Answer whoever waits. `frozen` says why nothing can be edited here. Nothing of kshell's is raised into the
        program."""
        if self.serving:
            return
        self.serving = self.steps.apart = True
        problem = ""
        try:
            self.stack = [] if self.idle.here else finding.frames(sys._getframe(1))
            with self._signals(), _plain_torch():
                self._serve(frozen)
        except Exception as e:
            problem = f"{type(e).__name__}: {first_line(message_of(e))}"
        finally:
            self.stack, self.serving, self.steps.apart = [], False, False
            self._answered = perf_counter()
        if problem:
            self.session = None
            _tell(f"not listening any more: {problem}")
            self.end()

    def _serve(self, frozen: str) -> None:
        session = self.session or self._open()
        assert self.edits is not None
        network = session.ipc.network
        self.variables.find(session, self.stack, self.steps.active())
        if self.early.waiting and (self.early.here or not frozen):
            self.edits.frozen = ""
            self.early.carry_out()
        self.edits.frozen = frozen
        due = self.plans.due() if not frozen else []
        for planned in due:
            if not planned.text.startswith(GATHER):
                self._carry_out(planned)
        for text in sorted(p.text for p in due if p.text.startswith(GATHER)):
            self.whole.gather(text.removeprefix(GATHER))  # in the same order in all processes
        if self.watches.conditions and not frozen and self.guard.stepper is None:
            if not self.idle.here:  # they were looked at after the last step
                self.fired += self.watches.look(self.steps.number, self._value_of)
        while self.fired:
            self._act(self.fired.pop(0))
        self.due = False
        network.turn(0.0)
        while network.patience(None) == 0.0 and not self.is_paused():
            network.turn(0.0)
        while self.is_paused():
            network.turn(PAUSED)
        self.due = self.due or bool(self.watches.conditions)
        if not network.connections:
            self.variables.let_go(session)

    def _value_of(self, text: str) -> Any:
        """The value of q text, which may change nothing."""
        assert self.session is not None
        return self.session.handle(self.session.evaluate, text, restricted=True)

    def _act(self, watch: Watch) -> None:
        """A watch has fired: do what it says."""
        if watch.condition != FINITE:
            self.watches.tell(f"step {self.steps.number}: {watch.name}: {watch.condition}")
        if watch.action == "pause":
            connections = self.session.ipc.network.connections if self.session is not None else {}
            self.pausing = next(iter(connections.values()), None)
            self.plans.pause(self.steps.number)
        elif watch.action != "log":
            self._carry_out(Planned(self.steps.number, watch.name, watch.action), agreed=False)

    # ------------------------------------------------------------ pausing

    def pause(self, steps: int = 0) -> None:
        """Pause now, or after so many further steps, for the client that asks: the program goes on when it says so, or
        when it is gone."""
        assert self.session is not None
        if self.idle.here:
            raise QError(f"{'step' if steps else 'pause'}: the program makes no steps now")
        client = self.session.ipc.client
        if client is None:
            raise QError(
                "pause: only a client can ask for it: the program goes on when that is gone"
            )
        self.pausing = client
        self.plans.pause(self.steps.number + steps)
        if steps:
            self._quiet = perf_counter() + SOON

    def go(self) -> None:
        """Go on."""
        self.pausing = None
        self.plans.pause(NEVER)

    def is_paused(self) -> bool:
        """Does the program wait? Whoever came first to a pause that a watch made is who it waits for."""
        if self.plans.pause_at < NEVER and self.pausing is None and self.session is not None:
            self.pausing = next(iter(self.session.ipc.network.connections.values()), None)
        if self.pausing is not None and self.pausing.closed:
            self.go()
        return self.steps.number >= self.plans.pause_at

    # ------------------------------------------------------------ the session

    def _open(self) -> Session:
        """The session, made when it is first needed."""
        session = Session()
        # its names are nobody's before there is a client
        importlib.import_module("kshell.host.names").connect(self, session)
        port = session.ipc = Console(session, self.listener)
        port.read_only = self.read_only
        self.edits = Edits(session, lambda: self.steps.number, self.variables.objects)
        if ranks.job().size > 1:
            self.edits.everywhere = self._plan_everywhere
        self.edits.user = self._user
        port.updates = self.edits
        port.listen("0")
        self.session = session
        return session

    def _user(self) -> str:
        """Who asks: the user of the process at the other end."""
        client = self.session.ipc.client if self.session is not None else None
        if client is None:
            return self.planner
        return process.name_of(client.owner) or client.user

    def plan(self, step: int, text: str) -> None:
        """Carry out a text at the end of a step to come, in a job in all processes."""
        mine = ranks.job()
        if self._replaying and step == self.steps.number == 0:
            self.early.add(Planned(step, self._user(), text))
        elif mine.size > 1 and not self._replaying:
            ranks.plan(mine, self.plans, self._user(), text, step)
        elif not self.plans.add(Planned(step, self._user(), text, turn=next(self.plans.turns))):
            raise QError(f"at: step {step} is over: the last one was {self.steps.number}")

    def _plan_everywhere(self, text: str) -> int:
        return ranks.plan(ranks.job(), self.plans, self._user(), text)

    planner = ""  # who planned what is carried out now

    def _carry_out(self, planned: Planned, agreed: bool = True) -> None:
        """Carry out what was planned. Its errors are told on standard error, and the run goes on."""
        problem = self.carried_out(planned, agreed)
        if problem:
            _tell(f"step {self.steps.number}: {planned.text}: '{problem}")

    def carried_out(self, planned: Planned, agreed: bool = True) -> str:
        """Carry out what was planned, in a job `agreed` with the other processes; else they are asked to do it too. Why
        that failed, empty if it did not."""
        assert self.session is not None and self.edits is not None
        self.planner, random, problem = planned.user, Random(), ""
        in_job = agreed and self.edits.everywhere is not None
        if in_job:  # processes have random numbers of their own
            random.seed(seed_of(planned.step, planned.text))
        self.edits.carries_out = agreed
        try:
            self.session.handle(
                self.edits.attempt, planned.text, self.session.evaluate, planned.text
            )
        except QError as e:
            problem = e.text
        finally:
            self.planner, self.edits.carries_out = "", False
            if in_job:
                random.restore()
        return problem

    def tell(self, text: str) -> None:
        """Say something on standard error."""
        _tell(text)

    def _replay(self, path: str) -> None:
        """Plan the edits of a file, which is q, and find the variables when they are due."""
        session, problem = self._open(), ""
        self._replaying = True
        try:
            with _plain_torch():
                session.run_script(path)
        except QError as e:  # perhaps the last line of a program that was killed
            problem = e.text
        finally:
            self._replaying = False
        if problem:
            _tell(f"{path}: '{problem}: what stands after that is not replayed")

    # ------------------------------------------------------------ what the watcher asks

    def waiting(self) -> int:
        """The descriptor that can be read when a client waits."""
        session = self.session
        if session is None:
            return self.listener.fileno()
        return int(session.ipc.network.selector.fileno())

    def state(self) -> place.State:
        """Where the program is."""
        mine = ranks.job()
        what = "training" if self.steps.number else "before the first step"
        if self.idle.is_waiting():
            what = "idle"
        if self.serving:
            what = "paused" if self.steps.number >= self.plans.pause_at else "busy"
        connections = len(self.session.ipc.network.connections) if self.session is not None else 0
        return place.State(
            pid=os.getpid(),
            user=process.name_of(os.getuid()),
            program=" ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:]]),
            step=self.steps.number,
            since=perf_counter() - self.last if self.last else None,
            started=self.started,
            devices=_devices(),
            memory=resident(),
            rank=mine.rank,
            job=mine.name,
            digests=self.edits.digests if self.edits is not None else [],
            what=what,
            stack=[],
            attached=connections,
        )

    def asked(self, word: str, text: str) -> str:
        """Do what is asked for besides the state. A query is stopped if it runs in the main thread, which alone has
        signals."""
        stop = self._stop
        if word == "stop" and stop is not None:
            stop()
        if word not in ("plan", "unplan") or (
            self.read_only and json.dumps(GATHER)[1:-1] not in text
        ):
            return ""
        return ranks.taken(self.plans, word, text)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Inside, a signal of ours stops the query; Ctrl-C stops it too, and is then the program's again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        came: list[int] = []

        def interrupt(signum: int, frame: FrameType | None) -> None:
            if signum == signal.SIGINT:
                came.append(signum)
                self.go()
            if self.session is not None:
                self.session.interrupt(signum, frame)

        numbers = signal.SIGINT, signal.SIGURG
        before = {number: signal.signal(number, interrupt) for number in numbers}
        main = threading.get_ident()
        self._stop = lambda: signal.pthread_kill(main, signal.SIGURG)
        try:
            yield
        finally:
            self._stop = None
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            if came:
                signal.raise_signal(signal.SIGINT)


@contextmanager
def _plain_torch() -> Iterator[None]:
    """torch as at a prompt, whatever the program has on here: gradients, no autocast, no inference mode."""
    torch: Any = sys.modules["torch"]
    with contextlib.ExitStack() as stack:
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        if not torch.is_grad_enabled():
            stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


def _devices() -> list[str]:
    """The devices in use, as far as that is known without asking for them."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return ["cpu"]
    return [f"cuda:{i}" for i in range(torch.cuda.device_count()) if torch.cuda.memory_allocated(i)]


def _tell(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"kshell: {text}\n")


_HOST: list[Host] = []


def listen(port: int | str = "", *, read_only: bool = False) -> str:
    """Let clients attach to this program: `kshell attach PID` opens a prompt in it, at the ends of its optimizers'
    steps. Only processes of the same user can, on a unix socket, whose path is returned; with a port, in any form that
    `\\p` takes, there too. If `read_only`, or if KSHELL_LISTEN is read-only, they change nothing. Again, it only adds
    a port.

    OSError if the folder of sockets cannot be made, or belongs to somebody else; QError if the port cannot be had."""
    if not _HOST:
        host = Host(read_only or os.environ.get("KSHELL_LISTEN") == "read-only")
        _HOST.append(host)
        host.begin()
    _HOST[0].idle.begin()
    if port:
        _HOST[0].listen_on(str(port))
    return _HOST[0].paths[0]


def listen_at_first_step() -> None:
    """`listen`, when an optimizer first steps: a process that a library started may never step."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    def first(optimizer: Any, args: Any, kwargs: Any) -> None:
        hook.remove()
        try:
            listen()
        except Exception as e:
            _tell(f"not listening: {first_line(message_of(e))}")

    hook = register_optimizer_step_pre_hook(first)
