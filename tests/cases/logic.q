not -1 0 1 2  / 0100b
not 0n 0 1  / 010b
not 2000.01.01 2000.01.02  / 10b
not "a\000"  / 01b
not `a  / 'type
null 0 0n 0w 1 0n  / 01001b
null `a``b  / 010b
null "a b"  / 010b
null(1;0N;`;"x")  / 0110b
null 0Nd  / 1b
null(::)  / 1b
null([]a:1 0N;b:``x)  / a b\n---\n0 1\n1 0
1100b and 1010b  / 1000b
1100b or 1010b  / 1110b
1 5 and 3  / 1 3
not 0N 0W  / 00b
not 0n 0 0w  / 010b
not(1 0;0b)  / 01b\n1b
not`a`b!0 1  / a| 1\nb| 0
not()  / ()
not 0#0  / `boolean$()
not`a  / 'type
not{x}  / 'type
null`a``b  / 010b
null" a"  / 10b
null(1;0N 2;())  / 0b\n10b\n()
null 0Ng  / 1b
null 0n 0w -0w  / 100b
null([]a:0N 1;b:`a`)  / a b\n---\n1 0\n0 1
null[1;2]  / 'rank
null[1;2;3]  / 'rank
1010b and 1100b  / 1000b
0N and 1  / 0N
2 and 3  / 2
(1 2;3)and 2  / 1 2\n2
(`a`b!1 5)and 3  / a| 1\nb| 3
()and 1  / ()
1 and`a  / 'type
1 2 and 1 2 3  / 'length
1010b or 1100b  / 1110b
2 or 3  / 3
0N or 1  / 1
0n or 2.5  / 2.5
(`a`b!1 5)or 3  / a| 3\nb| 5
()or()  / ()
1 or`a  / 'type
1 2 or 1 2 3  / 'length
"a"or 98  / "b"
