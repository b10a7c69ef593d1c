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
