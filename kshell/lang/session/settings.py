"""The settings of a session, read and changed by one-letter system commands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Settings:
    """One attribute per setting, named after its system command."""

    P: int = 7  # digits shown of a float; 0 is all 17
    c: tuple[int, int] = (25, 80)  # rows and columns of the console
    C: tuple[int, int] = (36, 2000)  # rows and columns of text for a web browser
    S: int = -314159  # seed of random numbers
    z: int = 0  # "D"$ reads month before day (0) or day before month (1)
    W: int = 2  # the day that starts a week: 0 is Saturday, 2 Monday
    o: int | None = None  # offset of local time from UTC in hours; None takes the system's
    e: int = 0  # the effect of a client's error
    T: int = 0  # the longest a client's call may take, in seconds; 0 is no limit
    g: int = 0  # whether memory goes back to the system at once
    s: int = 0  # threads that peach may use
    w: int = 0  # the most memory to use, in megabytes; 0 is no limit
    p: int = 0  # the port that is listened on; 0 is none
    q: bool = False  # quiet: started without a banner
    debug: int = 1  # at the prompt: is what an error stopped kept, for the debugger?
    progress: int = (
        0  # seconds between two lines of progress where there is no terminal; 0 shows none anywhere
    )
    suggest: int = 1  # at the prompt: are endings from the history suggested?
