"""The parser proper, generated from grammar/q.ebnf by parse/generate.py: do not edit."""
# ruff: noqa

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.parse import fold
from kshell.parse.fold import fail

if TYPE_CHECKING:
    from kshell.parse.lex import Tokens

MASTER = '(?>\\s++(?:(?<=\\n)/[ \\t\\r]*+(?=\\n)(?s:.)*?(?:\\n\\\\[ \\t\\r]*+(?=\\n|\\Z)|\\Z)|/[^\\n]*+)?)*+(?:("[^"\\\\]*+(?:\\\\(?s:.)[^"\\\\]*+)*+")|("(?s:.)*+)|((?:`(?:[A-Za-z0-9.][\\w.]*+)?+(?::[\\w.:/~%-]*+(?:@[\\w.]++:[\\w.:/]++)?+)?+)++)|((?:(?<![\\w)\\]}"`])(?<!\\d\\.)-)?(?![0-2]:(?!\\d\\d(?!\\d)))(?:0x[0-9A-Za-z]*+|\\.?\\d[0-9A-Za-z.]*+(?:(?<=[\\d.][eE])[-+]\\d++[a-z]?)?+(?::\\d[0-9A-Za-z.]*+)*+)(?:\\s++(?:/(?![ \\t\\r]*+\\n)[^\\n]*+\\n\\s*+)*+-?(?![0-2]:(?!\\d\\d(?!\\d)))(?:0x[0-9A-Za-z]*+|\\.?\\d[0-9A-Za-z.]*+(?:(?<=[\\d.][eE])[-+]\\d++[a-z]?)?+(?::\\d[0-9A-Za-z.]*+)*+))*+)|([0-2]:)|((?:select|exec|update|delete)(?![\\w.]))|(by(?![\\w.]))|(from(?![\\w.]))|(where(?![\\w.])(?![\'/\\\\]|[ \\t]*+\\[))|((?:if|do|while)(?=[ \\t]*+\\[))|((?:(?<![)\\]}"A-Za-z0-9])\\.|(?<=[)\\]}"])\\.(?=[A-Za-z]\\w*+\\.[A-Za-z]))?[A-Za-z]\\w*+(?:\\.[A-Za-z]\\w*+)*+)|(::)|(,(?![:\'/\\\\\\[]|[ ]\'))|((?:<=|>=|<>|[-+*%&|^=<>~,#_!?@.$])::?)|(<=|>=|<>|[-+*%&|^=<>~,#_!?@.$]|:(?=[/\\\\]|\':))|(:)|((?<=\\S)[/\\\\\']:?|(?<=[-+*%&|^=<>~,#!?@$][ ])\'|\'(?=\'*+[ \\t]*+[)\\]};]))|([/\\\\\']:?)|([()\\[\\]{};])|((?s:.))|(\\Z))'
KINDS = ' "?`0+qbfwiag,=+:\'~(!.'
NAMES = ('', 'string', 'unclosed', 'symbol', 'number', 'fileop', 'template', 'by', 'from', 'where', 'control', 'name', 'global', 'comma', 'amend', 'verb', 'colon', 'iterator', 'apart', 'bracket', 'bad', 'end')


def _row(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    out.append(_expr(p, i))
    i = p.i
    while kinds[i] == ';':
        i += 1
        out.append(_expr(p, i))
        i = p.i
    p.i = i
    return fold.row_(p, s_out, i, out)


def _expr(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    while kinds[i] in '0`"a+=\'~({i[:g,wq':
        if kinds[i] in '0`"a+=\'~({i[':
            s_t1 = i
            v_t1: Any
            if kinds[i] in '0`"a+=\'~':
                v_t1 = i
                i += 1
            elif kinds[i] == '(':
                v_t1 = _list(p, i)
                i = p.i
            elif kinds[i] == '{':
                v_t1 = _lambda(p, i)
                i = p.i
            elif kinds[i] == 'i':
                s_t2 = i
                t2: list[Any] = []
                t2.append(i)
                i += 1
                s_t3 = i
                t3: list[Any] = []
                if kinds[i] != '[':
                    fail(p, i, '[')
                i += 1
                s_t4 = i
                t4: list[Any] = []
                t4.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t4.append(_expr(p, i))
                    i = p.i
                t3.append(fold.row_(p, s_t4, i, t4))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                t2.append(fold.index_(p, s_t3, i, t3))
                v_t1 = fold.branch_(p, s_t2, i, t2)
            elif kinds[i] == '[':
                s_t5 = i
                t5: list[Any] = []
                i += 1
                s_t6 = i
                t6: list[Any] = []
                t6.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t6.append(_expr(p, i))
                    i = p.i
                t5.append(fold.row_(p, s_t6, i, t6))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                v_t1 = fold.block_(p, s_t5, i, t5)
            else:
                fail(p, i, '')
            if kinds[i] in "['":
                t1 = [v_t1]
                while kinds[i] in "['":
                    if kinds[i] == "'":
                        t1.append(i)
                        i += 1
                    elif kinds[i] == '[':
                        s_t7 = i
                        t7: list[Any] = []
                        i += 1
                        s_t8 = i
                        t8: list[Any] = []
                        t8.append(_expr(p, i))
                        i = p.i
                        while kinds[i] == ';':
                            i += 1
                            t8.append(_expr(p, i))
                            i = p.i
                        t7.append(fold.row_(p, s_t8, i, t8))
                        if kinds[i] != ']':
                            fail(p, i, ']')
                        i += 1
                        t1.append(fold.index_(p, s_t7, i, t7))
                    else:
                        fail(p, i, '')
                v_t1 = fold.term_(p, s_t1, i, t1)
            out.append(v_t1)
        elif kinds[i] in ':g,w':
            out.append(i)
            i += 1
        elif kinds[i] == 'q':
            out.append(_query(p, i))
            i = p.i
        else:
            fail(p, i, '')
    p.i = i
    return fold.expr_(p, s_out, i, out)


def _phrase(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    while kinds[i] in '0`"a+=\'~({i[:gwq':
        if kinds[i] in '0`"a+=\'~({i[':
            s_t1 = i
            v_t1: Any
            if kinds[i] in '0`"a+=\'~':
                v_t1 = i
                i += 1
            elif kinds[i] == '(':
                v_t1 = _list(p, i)
                i = p.i
            elif kinds[i] == '{':
                v_t1 = _lambda(p, i)
                i = p.i
            elif kinds[i] == 'i':
                s_t2 = i
                t2: list[Any] = []
                t2.append(i)
                i += 1
                s_t3 = i
                t3: list[Any] = []
                if kinds[i] != '[':
                    fail(p, i, '[')
                i += 1
                s_t4 = i
                t4: list[Any] = []
                t4.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t4.append(_expr(p, i))
                    i = p.i
                t3.append(fold.row_(p, s_t4, i, t4))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                t2.append(fold.index_(p, s_t3, i, t3))
                v_t1 = fold.branch_(p, s_t2, i, t2)
            elif kinds[i] == '[':
                s_t5 = i
                t5: list[Any] = []
                i += 1
                s_t6 = i
                t6: list[Any] = []
                t6.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t6.append(_expr(p, i))
                    i = p.i
                t5.append(fold.row_(p, s_t6, i, t6))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                v_t1 = fold.block_(p, s_t5, i, t5)
            else:
                fail(p, i, '')
            if kinds[i] in "['":
                t1 = [v_t1]
                while kinds[i] in "['":
                    if kinds[i] == "'":
                        t1.append(i)
                        i += 1
                    elif kinds[i] == '[':
                        s_t7 = i
                        t7: list[Any] = []
                        i += 1
                        s_t8 = i
                        t8: list[Any] = []
                        t8.append(_expr(p, i))
                        i = p.i
                        while kinds[i] == ';':
                            i += 1
                            t8.append(_expr(p, i))
                            i = p.i
                        t7.append(fold.row_(p, s_t8, i, t8))
                        if kinds[i] != ']':
                            fail(p, i, ']')
                        i += 1
                        t1.append(fold.index_(p, s_t7, i, t7))
                    else:
                        fail(p, i, '')
                v_t1 = fold.term_(p, s_t1, i, t1)
            out.append(v_t1)
        elif kinds[i] in ':gw':
            out.append(i)
            i += 1
        elif kinds[i] == 'q':
            out.append(_query(p, i))
            i = p.i
        else:
            fail(p, i, '')
    p.i = i
    return fold.phrase_(p, s_out, i, out)


def _source(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    while kinds[i] in '0`"a+=\'~({i[:g,q':
        if kinds[i] in '0`"a+=\'~({i[':
            s_t1 = i
            v_t1: Any
            if kinds[i] in '0`"a+=\'~':
                v_t1 = i
                i += 1
            elif kinds[i] == '(':
                v_t1 = _list(p, i)
                i = p.i
            elif kinds[i] == '{':
                v_t1 = _lambda(p, i)
                i = p.i
            elif kinds[i] == 'i':
                s_t2 = i
                t2: list[Any] = []
                t2.append(i)
                i += 1
                s_t3 = i
                t3: list[Any] = []
                if kinds[i] != '[':
                    fail(p, i, '[')
                i += 1
                s_t4 = i
                t4: list[Any] = []
                t4.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t4.append(_expr(p, i))
                    i = p.i
                t3.append(fold.row_(p, s_t4, i, t4))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                t2.append(fold.index_(p, s_t3, i, t3))
                v_t1 = fold.branch_(p, s_t2, i, t2)
            elif kinds[i] == '[':
                s_t5 = i
                t5: list[Any] = []
                i += 1
                s_t6 = i
                t6: list[Any] = []
                t6.append(_expr(p, i))
                i = p.i
                while kinds[i] == ';':
                    i += 1
                    t6.append(_expr(p, i))
                    i = p.i
                t5.append(fold.row_(p, s_t6, i, t6))
                if kinds[i] != ']':
                    fail(p, i, ']')
                i += 1
                v_t1 = fold.block_(p, s_t5, i, t5)
            else:
                fail(p, i, '')
            if kinds[i] in "['":
                t1 = [v_t1]
                while kinds[i] in "['":
                    if kinds[i] == "'":
                        t1.append(i)
                        i += 1
                    elif kinds[i] == '[':
                        s_t7 = i
                        t7: list[Any] = []
                        i += 1
                        s_t8 = i
                        t8: list[Any] = []
                        t8.append(_expr(p, i))
                        i = p.i
                        while kinds[i] == ';':
                            i += 1
                            t8.append(_expr(p, i))
                            i = p.i
                        t7.append(fold.row_(p, s_t8, i, t8))
                        if kinds[i] != ']':
                            fail(p, i, ']')
                        i += 1
                        t1.append(fold.index_(p, s_t7, i, t7))
                    else:
                        fail(p, i, '')
                v_t1 = fold.term_(p, s_t1, i, t1)
            out.append(v_t1)
        elif kinds[i] in ':g,':
            out.append(i)
            i += 1
        elif kinds[i] == 'q':
            out.append(_query(p, i))
            i = p.i
        else:
            fail(p, i, '')
    p.i = i
    return fold.source_(p, s_out, i, out)


def _list(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    if kinds[i] != '(':
        fail(p, i, '(')
    i += 1
    if kinds[i] == '[':
        s_t1 = i
        t1: list[Any] = []
        i += 1
        s_t2 = i
        t2: list[Any] = []
        t2.append(_expr(p, i))
        i = p.i
        while kinds[i] == ';':
            i += 1
            t2.append(_expr(p, i))
            i = p.i
        t1.append(fold.row_(p, s_t2, i, t2))
        if kinds[i] != ']':
            fail(p, i, ']')
        i += 1
        out.append(fold.head_(p, s_t1, i, t1))
    s_t3 = i
    t3: list[Any] = []
    t3.append(_expr(p, i))
    i = p.i
    while kinds[i] == ';':
        i += 1
        t3.append(_expr(p, i))
        i = p.i
    out.append(fold.row_(p, s_t3, i, t3))
    if kinds[i] != ')':
        fail(p, i, ')')
    i += 1
    p.i = i
    return fold.list_(p, s_out, i, out)


def _lambda(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    if kinds[i] != '{':
        fail(p, i, '{')
    i += 1
    if kinds[i] == '[':
        s_t1 = i
        t1: list[Any] = []
        i += 1
        s_t2 = i
        t2: list[Any] = []
        t2.append(_expr(p, i))
        i = p.i
        while kinds[i] == ';':
            i += 1
            t2.append(_expr(p, i))
            i = p.i
        t1.append(fold.row_(p, s_t2, i, t2))
        if kinds[i] != ']':
            fail(p, i, ']')
        i += 1
        out.append(fold.head_(p, s_t1, i, t1))
    s_t3 = i
    t3: list[Any] = []
    t3.append(_expr(p, i))
    i = p.i
    while kinds[i] == ';':
        i += 1
        t3.append(_expr(p, i))
        i = p.i
    out.append(fold.row_(p, s_t3, i, t3))
    if kinds[i] != '}':
        fail(p, i, '}')
    i += 1
    p.i = i
    return fold.lambda_(p, s_out, i, out)


def _query(p: Tokens, i: int) -> Any:
    kinds = p.kinds
    s_out = i
    out: list[Any] = []
    if kinds[i] != 'q':
        fail(p, i, 'q')
    out.append(i)
    i += 1
    if kinds[i] == '[':
        s_t1 = i
        t1: list[Any] = []
        i += 1
        s_t2 = i
        t2: list[Any] = []
        t2.append(_expr(p, i))
        i = p.i
        while kinds[i] == ';':
            i += 1
            t2.append(_expr(p, i))
            i = p.i
        t1.append(fold.row_(p, s_t2, i, t2))
        if kinds[i] != ']':
            fail(p, i, ']')
        i += 1
        out.append(fold.head_(p, s_t1, i, t1))
    s_t3 = i
    t3: list[Any] = []
    t3.append(_phrase(p, i))
    i = p.i
    while kinds[i] == ',':
        t3.append(i)
        i += 1
        t3.append(_phrase(p, i))
        i = p.i
    out.append(fold.phrases_(p, s_t3, i, t3))
    if kinds[i] == 'b':
        s_t4 = i
        t4: list[Any] = []
        t4.append(i)
        i += 1
        s_t5 = i
        t5: list[Any] = []
        t5.append(_phrase(p, i))
        i = p.i
        while kinds[i] == ',':
            t5.append(i)
            i += 1
            t5.append(_phrase(p, i))
            i = p.i
        t4.append(fold.phrases_(p, s_t5, i, t5))
        out.append(fold.group_(p, s_t4, i, t4))
    if kinds[i] != 'f':
        fail(p, i, 'f')
    out.append(i)
    i += 1
    out.append(_source(p, i))
    i = p.i
    if kinds[i] == 'w':
        s_t6 = i
        t6: list[Any] = []
        t6.append(i)
        i += 1
        s_t7 = i
        t7: list[Any] = []
        t7.append(_phrase(p, i))
        i = p.i
        while kinds[i] == ',':
            t7.append(i)
            i += 1
            t7.append(_phrase(p, i))
            i = p.i
        t6.append(fold.phrases_(p, s_t7, i, t7))
        out.append(fold.filter_(p, s_t6, i, t6))
    p.i = i
    return fold.query_(p, s_out, i, out)
