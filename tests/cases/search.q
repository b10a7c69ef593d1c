/ find
10 -8 3 5 -1 2 3?-8  / 1
10 -8 3 5 -1 2 3?3  / 2
10 -8 3?17  / 3
10 -8 3?3 10 4  / 2 0 3
-3!10 -8 3 5 -1 2 3?(10 5 -1;-8;3 17)  / "(0 3 4;7;2 7)"
10 -8 3?(-8;3 17)  / 'type
10 -8 3?(3 17;"a")  / 'type
-3!10 -8 3?((3 17;-8 10);10)  / "((2 3;1 0);3)"
"abc"?("ab";"c")  / 0 1\n3
"abc"?("ab";"c";`a)  / 'type
"abcde"?"d"  / 3
`a`b`c?`c`z`a  / 2 3 0
1 2 3?2.0  / 'type
1 2 3?`a  / 'type
1 0n 2?0n  / 1
("abcde";10 2 -6;(2 3;`ab))?10 2 -6  / 1
("abcde";10 2 -6;(2 3;`ab))?"abcde"  / 0
("abcde";10 2 -6;(2 3;`ab))?(2 3;`ab)  / 3 3
("ab";"cd")?"cd"  / 1
("ab";"cd")?("cd";"xx")  / 1 2
(1;`a;"b")?`a  / 1
(1;`a;"b")?("b";5)  / 2 3
(0#0)?1  / 0
()?1  / 0
1 2 3?0#0  / `long$()
(2 3#til 6)?3 4 5  / 1
(`a`b`c`d!10 20 30 10)?30  / `c
(`a`b!10 20)?20 99  / `b`
([]a:1 2 3;b:`x`y`z)?`a`b!(2;`y)  / 1
([]a:1 2 3;b:`x`y`z)?(2;`y)  / 1
([]a:1 2 3;b:`x`y`z)?([]a:3 9;b:`z`z)  / 2 3
([k:`a`b]v:1 2)?([]v:2 1)  / k\n-\nb\na
/ conditional
?[11001b;1 2 3 4 5;10 20 30 40 50]  / 1 2 30 40 5
?[11001b;1;10 20 30 40 50]  / 1 1 30 40 1
?[11001b;1 2 3 4 5;99]  / 1 2 99 99 5
?[1b;`a;`b]  / `a
?[10b;`a;`b]  / `a`b
-3!?[10b;("ab";"cd");("ef";"gh")]  / "(\"ab\";\"gh\")"
?[10b;1 2;3 4f]  / 'type
?[10b;1 2 3;4 5]  / 'length
?[1 0;1 2;3 4]  / 'type
/ in
"x" in "a"  / 0b
"x" in "acdexyz"  / 1b
"wx" in "acdexyz"  / 01b
-3!("abc";("def";"ghi");"jkl")in "bed"  / "(010b;(110b;000b);000b)"
"wx" in ("acdexyz";"abcd";"wx")  / 1b
("ab";"cd") in (("ab";"cd");0 1 2)  / 1b
1 3 7 6 4 in 5 4 1 6  / 10011b
1 2 in (9;(1 2;3 4))  / 00b
1 2 in (1 2;9)  / 1b
1 2 in ((1 2;3 4);9)  / 0b
(1 2;3 4) in ((1 2;3 4);9)  / 1b
3 in (1 2;3)  / 0b
3 in (3;1 2)  / 1b
1 2. in 2  / 01b
1 2. in 1#2  / 01b
1 2. in 0#2  / 'type
1 2. in 2#2  / 'type
`a in `b`a  / 1b
(`a`b!1 2) in 2 3  / a| 0\nb| 1
([]a:1 2) in ([]a:2 3)  / 01b
/ within
1 3 10 6 4 within 2 6  / 01011b
"acyxmpu" within "br"  / 0100110b
5 within (1 2 6;3 5 7)  / 010b
2 5 6 within (1 2 6;3 5 7)  / 111b
-3!(1 3 10 6 4;"acyxmpu") within ((2;"b");(6;"r"))  / "(01011b;0100110b)"
`dd`ccc within `c`d  / 01b
3 within 1 5  / 1b
2.5 within 1 3  / 1b
2000.06.01 within 2000.01.01 2000.12.31  / 1b
/ bin
0 2 4 6 8 10 bin 5  / 2
0 2 4 6 8 10 bin -10 0 4 5 6 20  / -1 0 2 2 3 5
0 1 1 2 bin 0 1 2  / 0 2 3
0 1 1 2 binr 0 1 2  / 0 1 3
1 2 3 3 4 bin 2 3  / 1 3
(`a`b`c!0 2 4) bin -1 3  / ``b
("apple";"banana";"coffee") bin ("anise";"berry";"curry")  / -1 1 2
`a`c`e bin `b`e  / 0 2
1 2 3 bin 2.5  / 'type
([]a:`p`p`p`q`q`q;b:0 2 4 0 2 4) bin `a`b!(`p;3)  / 1
([]a:`p`p`p`q`q`q;b:0 2 4 0 2 4) bin ([]a:`q;b:-1 1 3 5)  / 0N 3 4 5
([]a:`p`p`p`q`q`q;b:0 2 4 0 2 4) bin `a`b!(`r;2)  / 0N
00:01 00:05 bin 00:03  / 0
/ enumerate and extend
foo:`a`b; `foo?`a`b`c`b  / `foo$`a`b`c`b
foo  / `a`b`c
`bar?`x`y`x  / `bar$`x`y`x
bar  / `x`y
/ integers of different size
1 2 3i?2  / 1
1 2 3?3 0Ni  / 2 3
1 0N 3?0Ni  / 1
3i in 1 3  / 1b
1 2 3h?1 2f  / 'type
5 within 1 10  / 1b
0N within 1 2  / 0b
"c"within"af"  / 1b
3 within 1 2 3  / 'length
3 within`a`b  / 'type
0 2 4 bin 3 5 -1  / 1 2 -1
0 2 4 bin 0N  / -1
1 bin 2  / 'type
0 2 4 binr 3 5 -1 2  / 2 3 0 1
0 2 2 4 binr 2  / 1
(0#0)binr 5  / 0
`a`c`e binr`c`d  / 1 2
0 2 4f binr 0n  / 0
"aceg"binr"d"  / 2
1 binr 2  / 'type
1 2 binr`a  / 'type
("ab";"cd")?()  / `long$()
() in("ab";"cd")  / `boolean$()
(();1 2)?()  / 0
([]id:5 6 7)?6  / 1
6 in key([id:5 6]v:1 2)  / 1b
8 in([]id:5 6)  / 0b
?[([]a:1 2 3);2 0i;`a]  / 3 1
?[([]a:1 2 3);1 2 0h;`a]  / 2 3 1
?[([k:1 2]v:3 4);enlist 1;`v]  / ,4
?[([]a:1 2 3);0 1f;`a]  / 'type
([]a:1 2)?1 2!3 4  / 'type
()?([]a:1 2)  / 0 0
([]a:1 2)in()  / 00b
(1 2;3 4;5 6)?5 6  / 2
(1 2;3 4;5 6)?5 7  / 3
(1 2f;0n 3;-0. 2)?/:(0n 3;0 2f)  / 1 2
((0 0;0 1)?)((0 1;5 5);(0 0;9 9))  / 1 2\n0 2
((0 1;5 5);(0 0;9 9))in(0 0;0 1)  / 10b\n10b
l:("ab";`x;1 2;(1;`a);"cd";3;4;5;6;7);{l?"cd"}each til 5  / 4 4 4 4 4
l:(1 2;"ab";3 4 5;`a`b;5 6;1 2 3;"cd";"e";0x01;1 2f);{l?1 2 3}each til 5  / 5 5 5 5 5
l,:enlist 9 9;l[0]:8 8;l?/:(9 9;8 8;1 2)  / 10 0 11
(2 2 2#til 8)?{x}each 2 2#til 4  / 0
({x}each 2 2#4+til 4)in 2 2 2#til 8  / 1b
(2 2 2#til 8)?(1 2;3)  / 2
(1 0n;2 3f)?enlist 1f,neg log -1.  / ,0
(1 0n;enlist 3f)?1f,neg log -1.  / 0
(`a;1 0n)?enlist 1f,neg log -1.  / ,1
be:`p`q;(`be$`p`q)bin 1 2  / 'type
(`be$`p`q)bin`q`a  / 1 -1
1 1 2 1?2 1 3 0N  / 2 0 4 4
1 0N 2h?0N 2h  / 1 2
11b?01b  / 2 0
(16#5 6 5)?16#6 7  / 1 16 1 16 1 16 1 16 1 16 1 16 1 16 1 16
(17#5 6 5)?6 7 5 8 9  / 1 17 0 17 17
