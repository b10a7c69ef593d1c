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
