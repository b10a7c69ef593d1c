asc 2 1 3 4 2 1 2  / `s#1 1 2 2 2 3 4
desc 2 1 3 4 2 1 2  / 4 3 2 2 2 1 1
iasc 2 1 3 4 2 1 2  / 1 5 0 4 6 2 3
idesc 2 1 3 4 2 1 2  / 3 2 0 4 6 1 5
rank 2 7 3 2 5  / 0 4 2 1 3
iasc iasc 2 7 3 2 5  / 0 4 2 1 3
asc 3 0N 1  / `s#0N 1 3
asc 2.5 0n -0w 1  / `s#0n -0w 1 2.5
desc 2.5 0n 1  / 2.5 1 0n
asc `b`a``B  / `s#``B`a`b
asc "hello"  / `s#"ehllo"
asc 101b  / `s#011b
asc 0x0301  / `s#0x0103
asc 2001.01.01 2000.01.01  / `s#2000.01.01 2001.01.01
asc ("bat";"dog";"cow";"cat")  / "bat"\n"cat"\n"cow"\n"dog"
asc (1;1b;"b";2009.01.01;"a";0)  / 1b\n0\n1\n"a"\n"b"\n2009.01.01
asc (2f;3;4i;5h)  / 5h\n4i\n3\n2f
iasc (1 2 3;1 2;0 5)  / 2 1 0
asc `a`b`c!2 1 3  / b| 1\na| 2\nc| 3
desc `a`b`c!2 1 3  / c| 3\na| 2\nb| 1
iasc `a`b`c!2 3 1  / `c`a`b
asc ([]a:4 3 4;b:`s`a`d)  / a b\n---\n3 a\n4 d\n4 s
desc ([]a:1 3 2)  / a\n-\n3\n2\n1
asc ([k:`a`b]v:2 1)  / k| v\n-| -\nb| 1\na| 2
iasc ([]a:2 1 2;b:3 2 1)  / 1 2 0
asc 5  / 'rank
asc ()  / ()
iasc 0#0  / `long$()
asc 100 200 0N 0W -0W  / `s#0N -0W 100 200 0W
attr asc 3 1 2  / `s
iasc 0Ng,"G"$"00000000-0000-0000-0000-000000000001"  / 0 1
4 xrank til 9  / 0 0 0 1 1 2 2 3 3
2 xrank `d`a`c`b  / 1 0 1 0
3 xrank 2000.01.05 2000.01.01 2000.01.03  / 2 0 1
2 xrank ("ca";"ab";"bb")  / 1 0 0
2 xrank `a`b!9 3  / a| 1\nb| 0
0N xrank 3 1  / 0N 0N
4 xrank ()  / `long$()
1.5 xrank 1 2  / 'type
`a xrank 1 2  / 'type
2 xrank 5  / 'rank
attr asc (2 1;1 2)  / `s
attr desc (2 1;1 2)  / `
a:0 1 3;asc a;a  / `s#0 1 3
rank `a`b`c!2 3 1  / 1 2 0
asc[1;2]  / 'rank
desc 2 1 3  / 3 2 1
desc 0N 1 0W  / 0W 1 0N
desc"abc"  / "cba"
desc`a`b!1 2  / b| 2\na| 1
desc()  / ()
desc([]a:1 2;b:1 1)  / a b\n---\n2 1\n1 1
desc 5  / 'rank
desc[1;2]  / 'rank
iasc 0N 1 0N  / 0 2 1
iasc[1;2]  / 'rank
iasc 5  / 'rank
idesc 2 1 3  / 2 0 1
idesc 1 1 2  / 2 0 1
idesc 0n 1 0w  / 2 1 0
idesc"abc"  / 2 1 0
idesc`a`b!1 2  / `b`a
idesc 0#0  / `long$()
idesc[1;2]  / 'rank
idesc 5  / 'rank
rank 0#0  / `long$()
rank 0N 1 -1  / 0 2 1
rank"cab"  / 2 0 1
rank`b`a  / 1 0
rank([]a:2 1)  / 1 0
rank[1;2]  / 'rank
rank 5  / 'rank
iasc(`t`d!1040 59;`a`b!10 20;`n`i!("a";"st"))  / 2 1 0
iasc(`b`c!1 2;`a`b!1 2)  / 1 0
