/ text and binary files: 0: 1: read0 read1 hcount hdel hsym
hsym`a  / `:a
hsym`a`:b  / `:a`:b
hsym 1  / 'type
`:/tmp/kshell_t/f.txt 0:("ab";"";"cd")  / `:/tmp/kshell_t/f.txt
read0`:/tmp/kshell_t/f.txt  / "ab"\n""\n"cd"
read0(`:/tmp/kshell_t/f.txt;1;3)  / ,"b"\n""
read0(`:/tmp/kshell_t/f.txt;3)  / ""\n"cd"
read1`:/tmp/kshell_t/f.txt  / 0x61620a0a63640a
read1(`:/tmp/kshell_t/f.txt;0;2)  / 0x6162
hcount`:/tmp/kshell_t/f.txt  / 7
hcount`f  / 'type
(`:/tmp/kshell_t_z;17;2;6)set til 1000;hcount`:/tmp/kshell_t_z  / 8016
hdel`:/tmp/kshell_t_z  / `:/tmp/kshell_t_z
hdel`:/tmp/kshell_t/f.txt  / `:/tmp/kshell_t/f.txt
hdel`:/tmp/kshell_t/f.txt  / '/tmp/kshell_t/f.txt: No such file or directory
read0`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
`:/tmp/kshell_t/f.txt 0:"abc"  / 'type
`:/tmp/kshell_t/f.txt 0:(1;2)  / 'type
csv 0:([]a:1 0N;b:`x`)  / "a,b"\n"1,x"\n,","
csv 0:([]d:2020.01.02 0Nd;t:2#2020.01.02D03:04:05)  / "d,t"\n"2020-01-02,2020-01-02T03:04:05.000000000"\n",2020-01-02T03:04:05.000000000"
"|"0:(1 2;("a|b";"c\"d"))  / "1|\"a|b\""\n"2|c\"d"
csv 0:([]a:(1 2;"x"))  / 'type
csv 0:(1 2;1 2 3)  / 'length
("JS";",")0:("1,x";"2,y")  / 1 2\nx y
("J S";",")0:enlist"1,b,x"  / 1\nx
("JS";enlist",")0:("a,b";"1,x";",")  / a b\n---\n1 x\n
("I*";",";1)0:("0,\"ab\nc\"";"1,\"def\"")  / 0       1\n"ab\nc" "def"
("S*";",")0:("a,\"x,y\"";"b,\"q\"\"r\"")  / a     b\n"x,y" "q\"r"
("JS";2 3)0:("12abc";"34def")  / 12  34\nabc def
("JS";2 3)0:"12abc34def"  / 12  34\nabc def
("JS";2 3 4)0:enlist"12abc"  / 'length
("DT";",")0:"20130315,185540686"  / 2013.03.15\n18:55:40.686
("J";",";1 2)0:enlist"1"  / 'type
"S=;"0:"one=1;two=2"  / one  two\n,"1" ,"2"
"J=*,"0:"5=\"hello,world\",6=1"  / 5             6\n"hello,world" ,"1"
"I:/"0:"1:a/2:bc"  / 1    2\n,"a" "bc"
"S="0:"a=1"  / 'length
`:/tmp/kshell_t/b 1:0x01000000020000000300  / `:/tmp/kshell_t/b
("ih";4 2)1:`:/tmp/kshell_t/b  / 1\n2
(enlist"i";enlist 4)1:`:/tmp/kshell_t/b  / 1 2
(enlist 4;enlist"i")1:0x00000001  / 1
("ich";4 1 2)1:0x00000000410000FF00000042FFFF  / 0 255\nA B\n0 -1
("**";4 4)1:"abcd\"ef\""  / "abcd"\n"\"ef\""
("s i";3 1 4)1:0x616200ff01000000  / ab\n1
(enlist"i";4 4)1:0x0000  / 'length
("j";enlist 4)1:0x00000000  / 'type
`:/tmp/kshell_t/b 1: 1 2h  / `:/tmp/kshell_t/b
read1`:/tmp/kshell_t/b  / 0x01000200
`:/tmp/kshell_t/b 1:`a  / 'type
hsym`$"a/b.txt"  / `:a/b.txt
hsym`:a  / `:a
hsym`symbol$()  / `symbol$()
hsym`  / `:
type hsym`a`b  / 11h
hsym"ab"  / 'type
`:/tmp/kshell_t/f.txt 0:enlist"abc";read0`:/tmp/kshell_t/f.txt  / "abc"
`:/tmp/kshell_t/f.txt 0:();read0`:/tmp/kshell_t/f.txt  / ()
read0 1.5  / 'type
`:/tmp/kshell_t/f.txt 0:enlist"abc";read1(`:/tmp/kshell_t/f.txt;2;2)  / 0x630a
`:/tmp/kshell_t/f.txt 0:();read1`:/tmp/kshell_t/f.txt  / `byte$()
read1`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
read1 1.5  / 'type
`:/tmp/kshell_t/f.txt 0:enlist"abc";hcount`:/tmp/kshell_t/f.txt  / 4
`:/tmp/kshell_t/f.txt 0:();hcount`:/tmp/kshell_t/f.txt  / 0
`:/tmp/kshell_t/f.txt 1:0x010203;hcount`:/tmp/kshell_t/f.txt  / 3
type hcount`:/tmp/kshell_t/f.txt  / -7h
hcount`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
hcount 5  / 'type
`:/tmp/kshell_t/g.txt 0:();hdel`:/tmp/kshell_t/g.txt  / `:/tmp/kshell_t/g.txt
hdel 1 2  / 'type
hdel 5  / 'type
`KSHELL_T setenv"abc"  / 
getenv`KSHELL_T  / "abc"
`KSHELL_T setenv"";getenv`KSHELL_T  / ""
setenv[`KSHELL_T;"x y"];getenv`KSHELL_T  / "x y"
getenv`KSHELL_NO_SUCH  / ""
type getenv`KSHELL_T  / 10h
`KSHELL_T setenv"a=b";getenv`KSHELL_T  / "a=b"
getenv 5  / 'type
getenv"KSHELL_T"  / 'type
5 setenv"a"  / 'type
`KSHELL_T setenv 5  / 'type
`KSHELL_T setenv`a  / 'type
getenv`KSHELL_T  / "a=b"
type`KSHELL_T setenv"c"  / 101h
csv 0:([]d:0Wd,-0Wd,0Nd,9999.12.31)  / ,"d"\n"0W"\n"-0W"\n""\n"9999-12-31"
(`$"/tmp/kshell_t/plain.txt")0:("ab";"cd")  / `/tmp/kshell_t/plain.txt
read0`$"/tmp/kshell_t/plain.txt"  / "ab"\n"cd"
hdel`:/tmp/kshell_t/plain.txt  / `:/tmp/kshell_t/plain.txt

/ an empty field of a column of characters is a blank
("SC";",")0:("a,b";"c,")  / a c\nb
("SC";enlist",")0:("x,y";"a,";"b,z")  / x y\n---\na\nb z
("SC";",")0:("a,bc";"c,")  / a    c\n"bc" ""
