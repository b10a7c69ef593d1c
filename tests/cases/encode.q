"," vs "one,two,three"  / "one"\n"two"\n"three"
", " vs "a, b"  / ,"a"\n,"b"
"|" vs "red||blue"  / "red"\n""\n"blue"
` vs "abc\ndef\r\nghi\n"  / "abc"\n"def"\n"ghi"
` vs `mywork.dat  / `mywork`dat
` vs `:/home/data/mywork.dat  / `:/home/data`mywork.dat
0b vs 23173h  / 0101101010000101b
0b vs 0x05  / 00000101b
0x0 vs 2413h  / 0x096d
0x0 vs 2413f  / 0x40a2da0000000000
10 vs 1995  / 1 9 9 5
2 vs 9  / 1 0 0 1
10 vs 0  / ,0
24 60 60 vs 3805  / 1 3 25
10 vs 1995 1996 1997  / 1 1 1\n9 9 9\n9 9 9\n5 6 7
0 10 vs 1995  / 199 5
256 vs 3232235777  / 192 168 1 1
"," sv ("one";"two")  / "one,two"
", " sv enlist"one"  / "one"
"," sv ()  / ""
` sv ("one";"two")  / "one\ntwo\n"
` sv `quick`brown  / `quick.brown
` sv `:/home/q`data`trade  / `:/home/q/data/trade
` sv `:dir`  / `:dir/
10 sv 2 3 5 7  / 2357
100 sv 2010 3 17  / 20100317
0 24 60 60 sv 2 3 5 7  / 183907
256 sv til 8  / 283686952306183
2 sv 101b  / 5
10 sv(1 2;3 4)  / 13 24
0x0 sv 0x80ff  / -32513h
0x0 sv 0x004080ff  / 4227327i
0x0 sv "x"$til 8  / 283686952306183
0x0 sv 0x010203  / 'length
0b sv 64#1b  / -1
0b sv 8#1b  / 0xff
0b sv 0b vs -5i  / -5i
0x0 sv 0x0 vs 123456789012  / 123456789012
10 sv "ab"  / 'type
0x40 vs 2  / 0x00000000000000000002
0x10 vs 255h  / 0x00000f0f
0x0 vs 1 2h  / 0x0001\n0x0002
0x01 vs 5  / 'domain
`a vs 5  / 'type
10 vs'5 10 0 999  / ,5\n1 0\n,0\n9 9 9
2 vs/:3 2  / 1 1\n1 0
(10 vs'7 8)~enlist each 7 8  / 1b
"0123456789abcdef"16 vs'0 255 16  / ,"0"\n"ff"\n"10"
(16 vs'x)~{16 vs x}each x:til 5000  / 1b
(0b vs/:x)~{0b vs x}each x:-3+til 7  / 1b
10 vs'1 -5  / 1\n5
/ the pieces of many strings, and these joined again
ew:(70#("a b";"";enlist" ";"  x";"abc")),enlist 50#"a ";(" "vs/:ew)~{" "vs x}each ew  / 1b
ep:" "vs/:ew;(("-"sv/:ep)~{"-"sv x}each ep;("--"sv/:ep)~{"--"sv x}each ep;(""sv/:ep)~{""sv x}each ep)  / 111b
ew~" "sv/:ep  / 1b
count each 3#ep  / 2 1 2
ep[0 2 3]  / (,"a";,"b")\n("";"")\n("";"";,"x")

/ a file of the present folder
` vs `:file.q  / `:.`file.q
` sv(first` vs`:file.q),`other.q  / `:./other.q
` vs `:a/file.q  / `:a`file.q
` vs `:/a/b.q  / `:/a`b.q
` vs `:./file.q  / `:.`file.q
` sv ` vs `:/file.q  / `:/file.q
` vs `:  / `:`
