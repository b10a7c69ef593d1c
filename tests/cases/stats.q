sum 7  / 7
sum 2 3 0N 7  / 12
sum 1 2i  / 3i
sum 101b  / 2i
sum 1.5 0n 2  / 3.5
sum 1 2e  / 3e
sum()  / 0
sum 0#0  / 0
sum 0#0n  / 0f
sum "abc"  / 'type
sum`a`b  / 'type
sum(1 2 3 4;2 3 5 7)  / 3 5 8 11
sum(1 2;0N 4)  / 0N 6
sum(0n 8;8 0n)  / 0n 0n
sum`a`b!1 2  / 3
sum([]a:1 2;b:3 4)  / a| 3\nb| 7
sum 00:30 01:00  / 01:30
prd 2 3 0N 7  / 42
prd 101b  / 0i
prd(1 2 3 4;2 3 5 7)  / 2 6 15 28
prd()  / 1
max 2 5 0N 1  / 5
max 0N 0N  / -0W
max 0#0  / -0W
max 0#0n  / -0w
max "genie"  / "n"
max 2000.01.01 2000.01.03  / 2000.01.03
max(1 5;3 2)  / 3 5
max`a`b  / 'type
min 0N 5 0N 1 3  / 1
min 0N 0N  / 0W
min 0n 2 1.5  / 1.5
min(1 2;0N 4)  / 0N 2
min "genie"  / "e"
all 1 2 0  / 0b
all()  / 1b
any()  / 0b
any 0 0 2  / 1b
all "YN"  / 1b
all(10b;11b)  / 10b
all([]a:1 2;b:0 1)  / a| 1\nb| 0
any`a  / 'type
max`a`b!(10 21 3;4 5 6)  / 10 21 6
sum 0Ng  / 'type
prd 7  / 7
prd 0#0  / 1
prd 0N 0N  / 1
prd 2 0n 1.5  / 3f
prd`a`b!2 5  / 10
prd([]a:2 3;b:1 4)  / a| 6\nb| 4
prd 3 2 1i  / 6i
prd"abc"  / 'type
prd`a  / 'type
prd 0Ng  / 'type
max`a  / 'type
min 2 5 7 1 3  / 1
min 0#0  / 0W
min 7  / 7
min([]a:10 3;b:4 5)  / a| 3\nb| 4
min`a`b!(10 21 3;4 5 6)  / 4 5 3
min 101b  / 0b
min 2000.01.05 2000.01.02  / 2000.01.02
min`a`b  / 'type
min 0Ng  / 'type
all`a  / 'type
all`a`b  / 'type
any 1 2 3=1 20 30  / 1b
any" \000"  / 1b
any 2000.01.01  / 0b
any 0N  / 1b
any(01b;00b)  / 01b
any([]a:1 2;b:00b)  / a| 1\nb| 0
any 0Ng  / 'type
sum 2 2#2000.01.01+til 4  / 2 4i
prd 2 2#2000.01.01+til 4  / 'type
-3!sum enlist 101b  / "101b"
sum (1 2;3 0N;5 6;7 8)  / 16 0N
sum (110b;011b;111b;100b)  / 3 3 2i
sum (1 2h;3 4h;5 6h;7 8h)  / 16 20i
sum (1 2;3 4;5 6;7 8 9)  / 'length
sum (1 2;3 4f;5 6;7 8)  / 16 20f
prd (1 2;3 0N;5 6;7 8)  / 105 0N
prd (.5 2;2 .1;3 3;1 1)  / 3 0.6
{(-8!sum x)~-8!(+/)x}each(9 5#45?1f;9 5#45?1e;9 5#45?100i;9 5#45?01b)  / 1111b
{(-8!sum x)~-8!{x+y}/[x]}each(9 5#45?1f;9 5#45?1e;9 5#45?0N 2 0W 1000;9 5#45?01b;1 cut 9?1f;2 cut 40?1f)  / 111111b
{(-8!prd x)~-8!{x*y}/[x]}each(9 5#45?1f;9 5#45?1e;9 5#45?-1 2 3;9 5#45?01b;1 cut 9?1f;2 cut 40?1f)  / 111111b
