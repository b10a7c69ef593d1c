`quick like "qu?ck"  / 1b
`brown like "br[ao]wn"  / 1b
`quickly like "quick*"  / 1b
`quick like "quickish"  / 0b
`brawn`brown like "br[^o]wn"  / 10b
(`a`b`c!`quick`brown`fox) like "brown"  / a| 0\nb| 1\nc| 0
("brown";"drown";"frown";"grown") like "?rown"  / 1111b
"br^wn" like "br[&^]wn"  / 1b
"brAwn" like "br[A-Z]wn"  / 1b
"br0wn" like "br[3-6]wn"  / 0b
"br0wn" like "br[^3-6]wn"  / 1b
"brown" like "br?*wn"  / 1b
"brown" like "br[?*]wn"  / 0b
"br*wn" like "br[*]wn"  / 1b
"br]wn" like "[bf]r[]]wn"  / 1b
"a[c" like "a[[]c"  / 1b
(`$("ab^c";"abcc"))like"ab[*^]c"  / 10b
"" like "*"  / 1b
"" like ""  / 1b
1 like "1"  / 'type
`a like `a  / 1b
"a" like "[a"  / 'length
"We the people of the United States" ss "the"  / 3 17
"toronto ontario" ss "ont"  / 3 8
"toronto ontario" ss "[ir]o"  / 2 13
"toronto ontario" ss "t?r"  / 0 10
"abc" ss "z"  / `long$()
"aaaa" ss "aa"  / 0 2
"abc" ss ""  / 'length
"abc" ss "a*"  / 'length
"a*c" ss "[*]"  / ,1
ssr["toronto ontario";"ont";"x"]  / "torxo xario"
ssr["toronto ontario";"t?r";upper]  / "TORonto onTARio"
ssr["Hello word!";"rd";"rld"]  / "Hello world!"
ssr["a.b.c";".";""]  / "abc"
ssr["abc";"b";"-"]  / "a-c"
ssr["abc";"z";"-"]  / "abc"
ssr["aXbX";"X";{x,x}]  / "aXXbXX"
lower "IBM"  / "ibm"
lower `IBM  / `ibm
upper `ibm`msft  / `IBM`MSFT
upper "a"  / "A"
-3!upper (`The;(`quick;"fox"))  / "(`THE;(`QUICK;\"FOX\"))"
upper `a`b!("x";"yz")  / a| "X"\nb| "YZ"
upper 1  / 'type
trim "  ab c "  / "ab c"
ltrim "  ab c "  / "ab c "
rtrim "  ab c "  / "  ab c"
trim "   "  / ""
trim ""  / ""
trim (" a";"b ")  / ,"a"\n,"b"
trim 0N 0N 1 2 0N  / 1 2
trim "a"  / "a"
md5 "this is a not so secret message"  / 0x6cf192c1938b79012c323fa30e62787e
md5 ""  / 0xd41d8cd98f00b204e9800998ecf8427e
(`quick;`quack`quark) like "qu?ck"  / 'type
ssr["abc";"";"x"]  / 'length
ssr["abcabc";"b";"xy"]  / "axycaxyc"
ssr["toronto";"?o";"oo"]  / "oooonoo"
ssr["abc";"b";upper]  / "aBc"
ssr[1;"a";"b"]  / 'type
ssr["abc";1;"x"]  / 'type
ssr["abc";"[ab]";"-"]  / "--c"
ssr["";"a";"b"]  / ""
lower"IBM"  / "ibm"
lower`IBM`Msft  / `ibm`msft
lower"Z"  / "z"
lower("ABC";`D)  / "abc"\n`d
lower`a`b!("AB";`C)  / a| "ab"\nb| `c
lower""  / ""
lower()  / ()
lower 2000.01.01  / 'type
lower 1b  / 'type
upper`ibm`msft  / `IBM`MSFT
upper("abc";`d)  / "ABC"\n`D
upper""  / ""
upper{x}  / 'type
trim"  IBM  "  / "IBM"
trim""  / ""
trim"   "  / ""
trim("a ";" b")  / ,"a"\n,"b"
trim" a b "  / "a b"
trim{x}  / 'type
trim[1;2]  / 'rank
ltrim"  IBM  "  / "IBM  "
ltrim""  / ""
ltrim"  "  / ""
ltrim(" a";"b ")  / ,"a"\n"b "
ltrim"a"  / "a"
ltrim`a`b!(" x";"y")  / a| ,"x"\nb| "y"
ltrim[1;2]  / 'rank
ltrim{x}  / 'type
rtrim"  IBM  "  / "  IBM"
rtrim""  / ""
rtrim"  "  / ""
rtrim(" a";"b ")  / " a"\n,"b"
rtrim"a"  / "a"
rtrim`a`b!("x ";"y")  / a| ,"x"\nb| "y"
rtrim[1;2]  / 'rank
rtrim{x}  / 'type
md5""  / 0xd41d8cd98f00b204e9800998ecf8427e
md5"abc"  / 0x900150983cd24fb0d6963f7d28e17f72
md5"a"  / 0x0cc175b9c0f1b6a831c399e269772661
type md5"x"  / 4h
count md5 1000#"x"  / 16
md5 each("";"a")  / 0xd41d8cd98f00b204e9800998ecf8427e\n0x0cc175b9c0f1b6a831c399e269772661
md5 1 2  / 'type
md5`a  / 'type
md5 2000.01.01  / 'type
"ab" like "a*b*"  / 1b
"abcabc" like "*b*c"  / 'nyi
"abcabc" like "*b*c*"  / 'nyi
`a`b like "**"  / 'nyi
"a*b*c" like "a[*]b*c"  / 1b
ssr["a";"a";"-"]  / 'type
ssr[enlist"a";"a";"-"]  / ,"-"
/ ssr of many strings
sw:70#("a\nb";"";"aa";"banana");(ssr[;"a";""]each sw)~{ssr[x;"a";""]}each sw  / 1b
(ssr[;"an";"\n"]each sw)~{ssr[x;"an";"\n"]}each sw  / 1b
(ssr[;"a?";"-"]each sw)~{ssr[x;"a?";"-"]}each sw  / 1b
sw:sw,enlist"c"$0x0001020aff;(ssr[;"a";"xx"]each sw)~{ssr[x;"a";"xx"]}each sw  / 1b
