/ text and binary files: 0: 1: read0 read1 hcount hdel hsym
hsym`a  / `:a
hsym`a`:b  / `:a`:b
hsym 1  / 'type
`:/tmp/kshell_t/f.txt 0:("ab";"";"cd")  / `:/tmp/kshell_t/f.txt
read0`:/tmp/kshell_t/f.txt  / ("ab";"";"cd")
read0(`:/tmp/kshell_t/f.txt;1;3)  / (,"b";"";,"c")
read0(`:/tmp/kshell_t/f.txt;3)  / ("";"cd")
read1`:/tmp/kshell_t/f.txt  / 0x61620a0a63640a
read1(`:/tmp/kshell_t/f.txt;0;2)  / 0x6162
hcount`:/tmp/kshell_t/f.txt  / 7
hcount`f  / 'type
hdel`:/tmp/kshell_t/f.txt  / `:/tmp/kshell_t/f.txt
hdel`:/tmp/kshell_t/f.txt  / '/tmp/kshell_t/f.txt: No such file or directory
read0`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
`:/tmp/kshell_t/f.txt 0:"abc"  / 'type
`:/tmp/kshell_t/f.txt 0:(1;2)  / 'type
csv 0:([]a:1 0N;b:`x`)  / ("a,b";"1,x";,",")
csv 0:([]d:2020.01.02 0Nd;t:2#2020.01.02D03:04:05)  / ("d,t";"2020-01-02,2020-01-02T03:04:05.000000000";",2020-01-02T03:04:05.000000000")
"|"0:(1 2;("a|b";"c\"d"))  / ("1|\"a|b\"";"2|c\"d")
csv 0:([]a:(1 2;"x"))  / 'type
csv 0:(1 2;1 2 3)  / 'length
("JS";",")0:("1,x";"2,y")  / (1 2;`x`y)
("J S";",")0:enlist"1,b,x"  / (,1;,`x)
("JS";enlist",")0:("a,b";"1,x";",")  / +`a`b!(1 0N;`x`)
("I*";",";1)0:("0,\"ab\nc\"";"1,\"def\"")  / (0 1i;("ab\nc";"def"))
("S*";",")0:("a,\"x,y\"";"b,\"q\"\"r\"")  / (`a`b;("x,y";"q\"r"))
("JS";2 3)0:("12abc";"34def")  / (12 34;`abc`def)
("JS";2 3)0:"12abc34def"  / (12 34;`abc`def)
("JS";2 3 4)0:enlist"12abc"  / 'length
("DT";",")0:"20130315,185540686"  / (2013.03.15;18:55:40.686)
("J";",";1 2)0:enlist"1"  / 'type
"S=;"0:"one=1;two=2"  / (`one`two;(,"1";,"2"))
"J=*,"0:"5=\"hello,world\",6=1"  / (5 6;("hello,world";,"1"))
"I:/"0:"1:a/2:bc"  / (1 2i;(,"a";"bc"))
"S="0:"a=1"  / 'length
`:/tmp/kshell_t/b 1:0x01000000020000000300  / `:/tmp/kshell_t/b
("ih";4 2)1:`:/tmp/kshell_t/b  / (,1i;,2h)
(enlist"i";enlist 4)1:`:/tmp/kshell_t/b  / ,1 2i
(enlist 4;enlist"i")1:0x00000001  / ,,1i
("ich";4 1 2)1:0x00000000410000FF00000042FFFF  / (0 255i;"AB";0 -1h)
("**";4 4)1:"abcd\"ef\""  / (,"abcd";,"\"ef\"")
("s i";3 1 4)1:0x616200ff01000000  / (,`ab;,1i)
("i";4 4)1:0x00  / 'length
("j";enlist 4)1:0x00000000  / 'type
`:/tmp/kshell_t/b 1: 1 2h  / `:/tmp/kshell_t/b
read1`:/tmp/kshell_t/b  / 0x01000200
`:/tmp/kshell_t/b 1:`a  / 'type
