"""Texts in k that clients send, recognised by digest: kshell does not evaluate k, it answers these few."""

from __future__ import annotations

# a name as text; a function, and a namespace, are only named as such: PyKX then asks for what it needs of them
ATTRIBUTE = """{v:value x;
 $[99h<type v; `$"_pykx_fn_marker";
   not 11h=type@[key;v;0]; v;
   not 99h=type v; v;
   not ` in key v; v;
   (::)~v`; `$"_pykx_ctx_marker";
   v]}"""

# qStudio's page of settings
SETTINGS = """system each enlist each "cCegopPstTWz" """

# qStudio's report about a server: the database on disk, memory, the process
REPORT = """(
 $[all `PV`PD`D`pf in key .Q;
   ([] desc:`Segments`Partitions`PartitionType; val:(count .Q.D; count .Q.PD; .Q.pf));
   ([] Data:enlist "No partitioned database is loaded")];
 flip enlist each .Q.w[];
 (.z.a; .z.h; .z.i; .z.k; .z.K; .z.l; .z.o; .z.u; .z.x; system "s"))"""

# SHA-256 of a text in k: the q text that answers it
ANSWERS = {
    "fe0a57c25d528dd892dcc84cf9f913138ea6f3344db9936657adca70d6022179": ATTRIBUTE,
    "763900a398ddeccddf1b3aebd1566468a6557dc4d917a8cf21936153ab2c6bdf": SETTINGS,
    "f726ba6d54299993eb06714e4a79674883fa8e2e4ba251c5e18ba60d575ef730": REPORT,
}


def q_text(text: str) -> str | None:
    """The q text that answers a text in k, with its `k)`; None if it is not one of those that are answered."""
    import hashlib

    return ANSWERS.get(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest())
