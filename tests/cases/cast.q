`int$6.6 -6.6 2.4  / 7 -7 2i
"i"$10  / 10i
(`int;"i";6h)$10  / 10 10 10i
0Wh=`short$100000  / 1b
`int$0N 0W -0W  / 0N 0W -0Wi
`long$0Ni 0Wi  / 0N 2147483647
`float$0Wh  / 32767f
"x"$3 4 5 256 255  / 0x03040500ff
"x"$-2 -1 0 1 2+0Wi  / 0xfdfeffffff
"b"$0 1 0N 2  / 0111b
"b"$" a\000"  / 110b
"c"$97 98  / "ab"
"i"$"ab"  / 97 98i
"j"$0n 0w -0w 1e30  / 0N 0W -0W 0W
9h$(1 2;"a")  / 1 2f\n97f
`symbol$"abc"  / `abc
`$"  abc "  / `abc
`$("a";"bc")  / `a`bc
"d"$5  / 2000.01.06
`date$2015.10.28D03:55:58  / 2015.10.28
`month$2015.10.28  / 2015.10m
`date$2015.10m  / 2015.10.01
`timestamp$2015.10.28  / 2015.10.28D00:00:00.000000000
`timestamp$1666.09.02  / -0Wp
`minute$10:11:12  / 10:11
`time$2015.10.28D03:55:58.123456789  / 03:55:58.123
`timespan$10:11  / 0D10:11:00.000000000
`second$0D25:00:01  / 25:00:01
"d"$0N  / 0Nd
"j"$2000.01.03 0Nd  / 2 0N
`datetime$2000.01.02D12:00  / 2000.01.02T12:00:00.000
`timestamp$2000.01.02T12:00:00.123  / 2000.01.02D12:00:00.123000000
`year`mm`dd`hh`uu`ss$2015.10.28D03:55:58  / 2015 10 28 3 55 58i
`hh`uu`ss$03:55:58.11  / 3 55 58i
`hh`mm`ss$09:10:52  / 9 10 52i
`week$2015.10.28  / 2015.10.26
`year$0Nd  / 0Ni
`hh$2015.10.28  / 'type
`dd$10:00  / 'type
("*";0h)$1  / 1 1
`float$`a`b!1 2  / a| 1\nb| 2
`int$([]a:1.5 2.5)  / a\n-\n2\n3
`int$`a  / 'type
5$"abc"  / "abc  "
-5$"abc"  / "  abc"
2$"abc"  / "ab"
-2$"abc"  / "bc"
4$("ab";"c")  / "ab  "\n"c   "
5 -5$("ab";"c")  / "ab   "\n"    c"
`int$()  / `int$()
`nosuch$`a  / 'nosuch
sym:`a`b`c;`sym$`b`a`b  / `sym$`b`a`b
sym:`a`b;`sym$`c  / 'cast
sym:`a`b;type`sym$`a`b  / 20h
sym:`a`b;"i"$`sym$`b`a  / 1 0i
sym:`a`b;`b=`sym$`b`a`b  / 101b
sym:`a`b;(`sym$`b`a)<`b  / 01b
