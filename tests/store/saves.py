"""Kinds of saves: what is there before, the save, and the q that reads it. `test_saved_whole.py` kills each at every
system call that changes a file."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """The q that makes what is there before, that saves, and whose value is what was saved; whether it needs torch, and
    the folder that is read as other programs read weights, too."""

    name: str
    before: str
    save: str
    read: str
    torch: bool = False
    weights: str = ""


_TABLE = "{(cols x;x each cols x)}"
_T = _TABLE + "get`:t/"
_LOAD = 'if[count key`:db;system"l db"];{$[x in tables[];(cols x;value flip select from x);()]}each`t`u'
_OLD = "`:t/ set ([]a:1 2 3;b:1 2 3f;c:0x010203);"
_NESTED = "`:t/ set ([]a:1 2;b:(1 2;3 4 5));"
_DAY = "t:([]s:`x`y`x;v:1 2 3);.Q.dpft[`:db;2024.01.01;`s;`t];"
_STR = '([]a:1 2;b:("ab";"cde"))'
_TENSORS = "`a`b`c!(tensor til 50;tensor 50+til 50;tensor 1 2e)"
_ONE = "`a`b!(tensor til 20;tensor 1 2e)"
_CKPT = "{tensor each x}ckpt`:c"
_RUN = "m:module enlist(`linear;2;1);parm(m;`bias;5e);parm(m;`weight;enlist 1 2e)"
_LOADED = ("if[not`index.json in key`:r;'none];n:module enlist(`linear;2;1);parm(n;`bias;0e);parm(n;`weight;enlist 0 0e);"
           "e:ckptload(`:r;(enlist`m)!enlist n);(tensor parm(n;`bias);tensor parm(n;`weight);e)")

KINDS = [
    # one file, and the two of a list
    Kind("vector", "`:v set 1 2 3;", "`:v set 4 5 6 7;", "get`:v"),
    Kind("vector in a new folder", "", "`:new/a/v set 4 5 6 7;", "get`:new/a/v"),
    Kind("general list", "`:v set (1;`a;2.5);", "`:v set (\"x\";`b;2.5 3);", "get`:v"),
    Kind("dictionary", "`:v set `a`b!1 2;", "`:v set `b`c!3 4;", "get`:v"),
    Kind("keyed table", "`:v set ([k:1 2]b:`x`y);", "`:v set ([k:3 4]b:`x`y);", "get`:v"),
    Kind("nested over nested", "`:v set (1 2;3 4 5);", "`:v set (6 7 8;9 10;enlist 11);", "get`:v"),
    Kind("nested anew", "", "`:v set (6 7 8;9 10;enlist 11);", "get`:v"),
    Kind("nested over plain", "`:v set 1 2;", "`:v set (6 7 8;9 10);", "get`:v"),
    Kind("plain over nested", "`:v set (6 7 8;9 10);", "`:v set 1 2;", "get`:v"),
    Kind("strings over strings", '`:v set ("ab";"cde");', '`:v set ("xyz";"uu";"vvvv");', "get`:v"),
    Kind("nested, compressed", "`:v set (1 2;3 4 5);", "(`:v;17;2;6) set (til 3000;9 10;enlist 11);", "get`:v"),
    Kind("compressed copy", "`:s set (1 2;3 4 5);`:v set (7 8;enlist 9);", "-19!(`:s;`:v;17;2;6);", "get`:v"),
    Kind("lines", '`:f.txt 0:("aa";"bb");', '`:f.txt 0:("cc";"dd";"ee");', "read0`:f.txt"),
    Kind("text of a table", "t:([]a:1 2);save`:t.csv;", "t:([]a:3 4 5);save`:t.csv;", "read0`:t.csv"),
    Kind("an appended vector", "`:v set 1 2 3;", "`:v upsert 4 5;", "get`:v"),
    Kind("an appended vector that was empty", "`:v set 0#0;", "`:v upsert 4 5;", "get`:v"),
    Kind("an appended list", "`:v set (1 2;3 4 5);", "`:v upsert (6 7;8 9);", "get`:v"),
    Kind("an appended list by a handle", "`:v set 1 2 3;", "h:hopen`:v;h 4 5;hclose h;", "get`:v"),
    Kind("an amended file", "`:v set 1 2 3;", "@[`:v;1;:;9];", "get`:v"),
    Kind("a log of messages", "`:log set();h:hopen`:log;h enlist(`a;1);hclose h;", "h:hopen`:log;h enlist(`b;2);hclose h;",
         "first -11!(-2;`:log)"),
    # splayed tables
    Kind("splayed anew", "", "`:t/ set ([]a:7 8;b:1 2f);", _T),
    Kind("splayed in new folders", "", "`:x/y/t/ set ([]a:7 8;b:(1 2;3 4));", _TABLE + "get`:x/y/t/"),
    Kind("splayed, same columns", _OLD, "`:t/ set ([]a:4 5 6;b:4 5 6f;c:0x040506);", _T),
    Kind("splayed, longer", _OLD, "`:t/ set ([]a:til 50;b:50#1.5;c:50#0x09);", _T),
    Kind("splayed, other columns", _OLD, "`:t/ set ([]b:1 2 3;c:7 8 9;d:3#0b);", _T),
    Kind("splayed, strings", "`:t/ set " + _STR, '`:t/ set ([]a:3 4 5;b:("xx";"yz";"uvw"));', _T),
    Kind("splayed, nested to plain", _NESTED, "`:t/ set ([]a:3 4;b:5 6);", _T),
    Kind("splayed, plain to nested", _OLD, _NESTED, _T),
    Kind("splayed, compressed", _OLD, "(`:t/;17;2;6) set ([]a:til 900;b:900#1.5;c:900#0x09);", _T),
    Kind("splayed, compressed by .z.zd", _OLD, ".z.zd:17 2 6;`:t/ set ([]a:til 900;b:900#1.5;c:900#0x09);", _T),
    Kind("splayed over a file", "`:t set 1 2 3;", "`:t/ set ([]a:7 8;b:1 2f);", "{$[98=type x;(cols x;x each cols x);x]}get`:t"),
    Kind("splayed without rows", _OLD, "`:t/ set 0#get`:t/;", _T),
    Kind("rsave", "t:([]a:1 2;b:3 4);rsave`:t;", "t:([]a:7 8 9;b:3 4 5);rsave`:t;", _T),
    Kind("save of a table", "t:([]a:1 2);save`:t/;", "t:([]a:7 8 9;b:3 4 5);save`:t/;", _T),
    Kind("dsave", "t:([]s:`a`b;v:1 2);`:db dsave`t;", "t:([]s:`c`a`d;v:1 2 3);`:db dsave`t;",
         "load`:db/sym;" + _TABLE + "get`:db/t/"),
    Kind("xasc on disk", "`:t/ set ([]a:3 1 2;b:1 2 3f;c:(1 2;3 4;5 6));", "`a xasc`:t/;", _T),
    Kind("xdesc on disk", "`:t/ set ([]a:3 1 2;b:1 2 3f);", "`b xdesc`:t/;", _T),
    Kind("a column amended", _OLD, "@[`:t/;`a;neg];", _T),
    Kind("columns amended", _OLD, "@[`:t/;`a`b;neg];", _T),
    Kind("columns assigned", _OLD, "@[`:t/;`a`b`c;:;(7 8 9;1 2 3;4 5 6f)];", _T),
    Kind("columns and .d", _OLD, "@[`:t/;`d`.d;:;(7 8 9;`a`b`c`d)];", _T),
    Kind("attribute of columns", _OLD, "@[`:t/;`a`b;`s#];", "(meta get`:t/)[;`a]"),
    Kind("nested columns amended", "`:t/ set ([]a:(1 2;3 4);b:(5 6;7 8));", "@[`:t/;`a`b;neg];", _T),
    Kind("a part of columns amended", "`:t/ set ([]a:1 2 3;b:1 2 3);", ".[`:t/;(`a`b;1);:;9];", _T),
    Kind("a dictionary of files", "`:d/a set 1 2;`:d/b set 2 3;", "@[`:d;`a`b;:;(5 6;(6 7;8 9))];", "(get`:d/a;get`:d/b)"),
    Kind("rows appended", _OLD, "`:t/ upsert ([]a:9 9;b:9 9f;c:0x0909);", _T),
    Kind("one row appended", _OLD, "`:t/ upsert (9;9f;0x09);", _T),
    Kind("rows appended to none", "`:t/ set ([]a:0#0;b:0#0f);", "`:t/ upsert ([]a:9 9;b:9 9f);", _T),
    Kind("strings appended", "`:t/ set " + _STR, '`:t/ upsert ([]a:7 8;b:("qq";"rstu"));', _T),
    Kind("rows appended to packed columns", "(`:t/;17;2;6) set ([]a:til 900;b:900#1.5);",
         "`:t/ upsert ([]a:9 9;b:9 9f);", _T),
    Kind("rows appended by insertion", _OLD, ".[`:t/;();,;([]a:9 9;b:9 9f;c:0x0909)];", _T),
    Kind("rows appended anew", "", "`:t/ upsert ([]a:9 9;b:9 9f);", _T),
    Kind("rows appended to a sorted column", "`:t/ set ([]a:`s#1 2;b:3 4);", "`:t/ upsert ([]a:9 9;b:9 9);", _T),
    Kind("update of a splayed table", _OLD, "`:t/ set update a:neg a,b:2*b from get`:t/;", _T),
    Kind("links", "`:k/ set k:([]x:5 6);`:t/ set ([]l:`k!0 1 0;v:1 2 3);",
         "load`:k;`:t/ set ([]l:`k!1 1;v:8 9);", "load`:k;flip select l.x,v from get`:t/"),
    # databases
    Kind("enumeration and table", "`:db/t/ set .Q.en[`:db]([]s:`a`b;v:1 2);", "`:db/t/ set .Q.en[`:db]([]s:`c`b;v:3 4);",
         "load`:db/sym;" + _TABLE + "get`:db/t/"),
    Kind("a new partition", _DAY, "t:([]s:`x`z;v:7 8);.Q.dpft[`:db;2024.01.02;`s;`t];", _LOAD),
    Kind("the first partition", "", "t:([]s:`x`z;v:7 8);.Q.dpft[`:db;2024.01.02;`s;`t];", _LOAD),
    Kind("over a partition", _DAY, "t:([]s:`x`z;v:7 8);.Q.dpft[`:db;2024.01.01;`s;`t];", _LOAD),
    Kind("over a partition of lists", 't:([]s:`x`y;v:("ab";"ccc"));.Q.dpft[`:db;2024.01.01;`s;`t];',
         't:([]s:`x`z;v:("uuu";"vw"));.Q.dpft[`:db;2024.01.01;`s;`t];', _LOAD),
    Kind("another table of a partition", _DAY, "u:([]s:`x`w;v:7 8);.Q.dpft[`:db;2024.01.01;`s;`u];", _LOAD),
    Kind("a partition unsorted", _DAY, "t:([]s:`z`x;v:7 8);.Q.dpt[`:db;2024.01.02;`t];", _LOAD),
    Kind("a partition of another list", _DAY, "t:([]s:`z`x;v:7 8);.Q.dpfts[`:db;2024.01.02;`s;`t;`kinds];", _LOAD),
    Kind(".Q.hdpf", _DAY, "u:([]s:`x`w;v:7 8);.Q.hdpf[0;`:db;2024.01.01;`s];", _LOAD),
    Kind("a segment", '`:db/par.txt 0:("../p1";"../p2");' + _DAY, "t:([]s:`x`z;v:7 8);.Q.dpft[`:db;2024.01.02;`s;`t];",
         _LOAD),
    Kind(".Q.chk", _DAY + "u:t;.Q.dpft[`:db;2024.01.02;`s]each`t`u;", ".Q.chk`:db;",
         'system"l db";(count select from t;$[()~key`:2024.01.01/u;();count select from u])'),
    Kind("a vector in the root", _DAY, "`:db/w set 1 2 3;", 'system"l db";(select from t;$[`w in key`.;w;()])'),
    # checkpoints
    Kind("a .pt", f"ckpt(`:c;{_ONE});", f"ckpt(`:c;{_TENSORS});", _CKPT, True),
    Kind("one .safetensors", f"ckpt(`:c.safetensors;{_ONE});", f"ckpt(`:c.safetensors;{_TENSORS});",
         "{tensor each x}ckpt`:c.safetensors", True),
    Kind("shards in a new folder", "", f"ckpt(`:c;{_TENSORS};300);", _CKPT, True),
    Kind("shards in new folders", "", f"ckpt(`:x/c;{_TENSORS};300);", "{tensor each x}ckpt`:x/c", True),
    Kind("shards in an empty folder", 'system"mkdir c";', f"ckpt(`:c;{_TENSORS};300);", _CKPT, True),
    Kind("one shard in a new folder", "", f"ckpt(`:c;{_ONE};3000);", _CKPT, True),
    Kind("shards over as many", f"ckpt(`:c;neg each {_TENSORS};300);", f"ckpt(`:c;{_TENSORS};300);", _CKPT, True, "c"),
    Kind("shards over others", f"ckpt(`:c;{_ONE};100);", f"ckpt(`:c;{_TENSORS};300);", _CKPT, True, "c"),
    Kind("shards over one file", f'system"mkdir c";ckpt(`:c/model.safetensors;{_ONE});`:c/config.json 0:enlist"{{}}";',
         f"ckpt(`:c;{_TENSORS};300);", _CKPT, True, "c"),
    Kind("a first ckptsave", "", f"{_RUN};ckptsave(`:r;`m`e!(m;3));", _LOADED, True),
    Kind("ckptsave again", f"{_RUN};ckptsave(`:r;`m`e!(m;3));", f"{_RUN};parm(m;`bias;7e);ckptsave(`:r;`m`e!(m;4));",
         _LOADED, True),
    Kind("a state", "`:s set state module enlist(`linear;2;1);", f"{_RUN};`:s set state m;",
         "n:module get`:s;(tensor parm(n;`bias);tensor parm(n;`weight))", True),
    Kind("a snapshot", "a:1;snapshot`:a.ks;", "a:2;b:3;snapshot`:a.ks;", "resume`:a.ks;(a;$[`b in key`.;b;()])", True),
]
