"""The settings of a session, read and changed by one-letter system commands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Settings:
    """One attribute per setting, named after its system command."""

    P: int = 7  # digits shown for floats; 0 shows all 17
    c: tuple[int, int] = (25, 80)  # rows and columns of the console
    C: tuple[int, int] = (36, 2000)  # rows and columns of text for a web browser
    S: int = -314159  # seed of random numbers
    z: int = 0  # "D"$ reads month/day (0) or day/month (1)
    W: int = 2  # the day that starts a week: 0 is Saturday, 2 Monday
    o: int | None = None  # UTC offset of local time in hours; None uses the system's
    e: int = 0  # does a client's error print its stack? 2 does, 0 and 1 do not
    T: int = 0  # time limit of a client's call in seconds; 0 is no limit
    g: int = 0  # whether memory is returned to the system immediately
    s: int = 0  # number of threads for peach
    w: int = 0  # memory limit in megabytes; 0 is no limit
    p: int = 0  # the listening port; 0 is none
    q: bool = False  # quiet: started without a banner
    debug: int = 1  # at the prompt: does an error open the debugger?
    # seconds between progress lines without a terminal; 0 turns progress off everywhere
    progress: int = 0
    suggest: int = 1  # at the prompt: are completions from the history suggested?
