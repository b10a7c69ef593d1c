"""How the time of verbs and of loops grows with their data: the exponent that fits the times."""

from __future__ import annotations

import math
import statistics

from kshell.session import Session
from kshell.shell.cli import tune_allocator, tune_collector
from kshell.values.session.context import enter, leave
from tests.bench.timing import effort

LIMIT = 1.25
BUDGET = 1.5  # seconds; a size that would take longer is left out

SETUP = ("N:{n};i:N?1000000000;j:N?1000000000;lo:N?100;f:N?1f;sy:`$string i;st:string i;mx:N#(1;`a;\"bc\");b:f>.5;"
         "d:sy!i;t:([]a:i;b:f;s:sy);k:([a:i]z:f);q:`s`tm xasc([]s:`$string lo;tm:N?24:00:00.000;v:f);l:10 cut i;"
         "txt:\",\"sv st;e:`s#asc distinct i")
# on N items
VERBS = """
i+j|sum i|max i|sums i|deltas i|avg f|med f|dev f|f cor f|asc i|desc f|iasc i|rank i|asc sy|asc st|distinct i|distinct sy
distinct st|distinct mx|group i|group sy|group st|i?j|sy?sy|st?st|i in j|st in st|mx?mx|i union j|i inter j|i except j
st except st|where b|reverse i|rotate[5;i]|5 sublist i|-5_i|10 cut i|raze l|sum each l|count each l|(,/)l|i,j|st,st|mx,mx
i bin j|e bin j|i within 5 500000|prev i|next i|fills i|differ i|20 mavg f|20 mmax f|20 msum i|ema[.1;f]|ratios f
string i|string f|string sy|"J"$st|`$st|"F"$st|st like "1*"|sy like "1*"|","sv st|","vs txt|upper st|upper sy|trim st
ssr[txt;"12";"x"]|txt ss "12"|ssr[;"1";"x"]each st|reverse each st|st,'st|st~\\:"12"|-3!i|.Q.s1 st|md5 txt|-8!t|-9!-8!t
.j.j t|.j.k .j.j t|value each 10#st|flip t|flip flip t|t,t|select from t where a<5|select sum b by a from t
select b by s from t|select last b,avg a by s from t|exec a!b from t|update sums b by s from t|delete from t where a<5
t lj k|t ij k|(`a xkey t)uj k|k,k|(0!k)~0!k|t pj k|ej[`a;t;0!k]|aj[`s`tm;q;q]|`a xasc t|`s`b xasc t|distinct t|t?t|t except t
`s xgroup t|ungroup `s xgroup t|select from q where v=(max;v)fby s|d sy|d,d|d+d|asc d|group d|key d|k@([]a:i)
csv 0:t|("JFS";enlist",")0:csv 0:t|{x+1}each i|{$[x>5;x;0]}each i|+/[i]|+\\[i]|{x+y}/[i]|{x+y}\\[i]|(+)prior i|{x,y}':i
@[i;lo;+;1]|.[i;enlist lo;:;0]|til N|N#5|N?100|neg[N]?N|10 vs i|0b vs first i|i xexp 2|i mod 7|5 xbar i
count each group lo|N#enlist 1 2|enlist each i|til each lo|lo#\\:0|where lo|raze til each lo|"c"$lo|string lo
"""
# loops of N steps
LOOPS = {
    "x,:1": "{x:();do[N;x,:1];x}[]",
    "x,:`a": "{x:`$();do[N;x,:`a];x}[]",
    "x,:enlist string": '{x:();do[N;x,:enlist"ab"];x}[]',
    "global x,:1": "G:();do[N;G,:1]",
    "x[i]:v": "{x:N#0;i:0;while[i<N;x[i]:i;i+:1];x}[]",
    "x[i]+:v": "{x:N#0;i:0;while[i<N;x[i]+:i;i+:1];x}[]",
    "l[i]:string": '{x:N#enlist"";i:0;while[i<N;x[i]:"ab";i+:1];x}[]',
    "d[k]:v, new keys": "{d:()!();i:0;while[i<N;d[i]:i;i+:1];d}[]",
    "d[sym]:v, new keys": "{d:(`$())!();i:0;while[i<N;d[sy i]:i;i+:1];d}[]",
    "d[k]+:v, new keys": "D:(`long$())!`long$();c:0;while[c<N;D[c]+:c;c+:1]",
    "d[k],:v, new keys": "{d:(`long$())!();i:0;while[i<N;d[i],:i;i+:1];d}[]",
    "d,:k!v": "{d:()!();i:0;while[i<N;d,:(enlist i)!enlist i;i+:1];d}[]",
    "d k": "{d:(til N)!til N;i:0;while[i<N;d i;i+:1];d}[]",
    "d sym": "{i:0;while[i<N;d sy i;i+:1];i}[]",
    "i?x": "{c:0;while[c<N;i?c;c+:1];c}[]",
    "t insert row": "T:([]a:`long$();b:`float$());c:0;while[c<N;`T insert(c;2f);c+:1]",
    "t upsert row": "T:([]a:`long$();b:`float$());c:0;while[c<N;`T upsert(c;2f);c+:1]",
    "k upsert row": "T:([a:`long$()]b:`float$());c:0;while[c<N;`T upsert(c;2f);c+:1]",
    "k upsert row, two keys": "T:([a:`long$();g:`$()]b:`float$());c:0;while[c<N;`T upsert(c;`x;2f);c+:1]",
    "t,:row": "T:([]a:`long$();b:`float$());c:0;while[c<N;T,:(c;2f);c+:1]",
    "t[i;`c]:v": "T:([]b:N#1f);c:0;while[c<N;T[c;`b]:2f;c+:1]",
    "k[x;`c]:v": "T:([a:til N]b:N#1f);c:0;while[c<N;T[c;`b]:2f;c+:1]",
    "x in v, v,:x": "{v:`long$();c:0;while[c<N;if[not c in v;v,:c];c+:1];v}[]",
    "1_x": "{x:til N;while[count x;x:1_x];x}[]",
}


def report(longest: int = 1_000_000) -> list[str]:
    tune_allocator()
    tune_collector()
    s = Session()
    verbs = [v for line in VERBS.strip().split("\n") for v in line.split("|")]
    times: dict[str, list[tuple[int, float]]] = {}
    token = enter(s)
    try:
        n = 100
        while n <= longest:
            s.run("\\S -7")
            s.run(SETUP.format(n=n))
            for name, text in [*((v, v) for v in verbs), *LOOPS.items()]:
                seen = times.setdefault(name, [])
                if not seen or (seen[-1][0] * 10 == n and seen[-1][1] * 12 < BUDGET):
                    seen.append((n, min(effort(lambda text=text: s.run(text + ";")) for _ in range(2 if n > 1e5 else 4))))
            n *= 10
    finally:
        leave(token)
    return [_row(name, seen) for name, seen in times.items()]


def _row(name: str, seen: list[tuple[int, float]]) -> str:
    """The exponent of growth, fitted to the sizes at which the work outweighs the call."""
    big = [(math.log(n), math.log(t)) for n, t in seen if t > 5e-5]
    each = " ".join(f"{t / n * 1e9:.0f}" for n, t in seen)
    if len(big) < 2:
        return f"ok   {name:44} too quick to tell     ns an item: {each}"
    power = statistics.linear_regression(*zip(*big, strict=True)).slope
    return f"{'ok  ' if power <= LIMIT else 'MISS'} {name:44} exponent {power:5.2f}  ns an item: {each}"
