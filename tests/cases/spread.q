avg 1 2 3  / 2f
avg 1 0n 2 3  / 2f
avg(1;0n;2;3)  / 1.5
avg(1 2;0N 4)  / 0n 3
avg 1 0w  / 0w
avg -0w 0w  / 0n
avg()  / 0n
avg 101b  / 0.6666667
avg 1b  / 1f
avg([]a:3 5;b:6 8f)  / a| 4\nb| 7
med 10 34 23 123 5 56  / 28.5
med 1 2 3  / 2f
med`a`b!(10 -21 3;4 5 -6)  / 7 -8 -1.5
var 2 3 5 7  / 3.6875
var 2 3 5 0n 7  / 3.6875
var(2 3;4 0N;1 7)  / 1.555556 4
svar 2 3 5 7  / 4.916667
dev 10 343 232 55  / 134.3484
sdev 10 343 232 55  / 155.1322
dev 5  / 0f
sdev 5  / 0n
dev "abc"  / 0.8164966
dev`a  / 'type
2 3 4 wsum 1 2 4  / 24f
2 wsum 1 2 4  / 14
(1 2;3 4)wsum(500 400;300 200)  / 1400 1600
2 3 4 wavg 1 2 4  / 2.666667
2 0N 4 5 wavg 1 2 0N 8  / 6f
0 wavg 2 3  / 0n
(1 2;3 4)wavg(500 400;300 200)  / 350 266.6667
2 3 5 7 cov 3 3 5 9  / 4.5
2 3 5 7 scov 3 3 5 9  / 6f
29 10 54 cor 1 3 9  / 0.7727746
1 3 0N cor 1 3 9  / 1f
1 1 1 cor 1 3 9  / 0n
1 2 cov 1 2 3  / 'length
avg 1.0 0w  / 0w
avg`a  / 'type
avg 0Ng 0Ng  / 'type
med 0#0  / 0n
med 7  / 7f
med 01b  / 0.5
med([]a:10 -21 3;b:4 5 -6)  / a| 3\nb| -6
med 2000.01.01 2000.01.03  / 1f
med`a`b  / 'type
med{x}  / 'type
var 0#0  / 0n
var 7  / 0f
var 0101b  / 0.25
var flip`a`b!flip(2 3;4 0N;1 7)  / a| 1.555556\nb| 4
var`a`b  / 'type
var{x}  / 'type
dev 2 4 4 4 5 5 7 9  / 2f
dev 0#0n  / 0n
dev(2 3;4 0N;1 7)  / 1.247219 2
dev([]a:1 1;b:1 3)  / a| 0\nb| 1
dev`a`b  / 'type
svar 2 3 5 0N 7  / 4.916667
svar enlist 5  / 0n
svar 0#0  / 0n
svar(2 3;4 0N;1 7)  / 2.333333 8
svar([]a:1 3)  / a| 2
svar`a`b  / 'type
svar{x}  / 'type
sdev 0#0  / 0n
sdev 1 3 0N  / 1.414214
sdev(2 3;4 0N;1 7)  / 1.527525 2.828427
sdev([]a:1 3)  / a| 1.414214
sdev 2 2 2  / 0f
sdev`a`b  / 'type
sdev 0Ng 0Ng  / 'type
2 3 4 wsum 1 2 4f  / 24f
1 2 wsum`a`b!(10 21 3;4 5 6)  / 18 31 15
1 0N 2 wsum 3 4 5  / 13f
1 2 wsum 1 2 3  / 'length
1 wsum`a`b  / 'type
1 2 wavg 1 2 3  / 'length
1 2 wavg`a`b  / 'type
1 2 cov 1 2f  / 0.25
1 0N 3 cov 1 5 3  / 1f
(0#0)cov 0#0  / 0n
exec a cov b from([]a:2 3 5 7;b:4 3 0 2)  / -1.8125
01b cov 01b  / 0.25
1 2 cov`a`b  / 'type
1 2 scov 1 2  / 0.5
exec a scov b from([]a:2 3 5 7;b:4 3 0 2)  / -2.416667
(0#0)scov 0#0  / 0n
1 0N 3 scov 1 5 3  / 2f
(enlist 1)scov enlist 1  / 0n
1 2 scov`a`b  / 'type
1 2 scov 1 2 3  / 'length
1 3 9 cor neg 1 3 9  / -1f
1000101000b cor 0010011001b  / -0.08908708
(0#0)cor 0#0  / 0n
1 2 cor`a`b  / 'type
1 2 cor 1 2 3  / 'length
/ lists and rows have a middle too
med`a`b!(10 -21 3;4 5 -6)  / 7 -8 -1.5
med([]a:10 -21 3;b:4 5 -6)  / a| 3\nb| -6
med([k:`x`y`z]a:10 -21 3;b:4 5 -6)  / a| 3\nb| -6
med(1 5;2 0;3 3)  / 2 0f
med`a`b`c!1 5 9  / 5f
med()  / 0n
med 0#([]a:1 2)  / a|
med(`a`b;`c`d)  / 'type
dev(1;`a)  / 'type
med(1;`a;3)  / 'type
var(1;2.5;0N)  / 0.5625
0n 1 wavg 2 3f  / 3f
1 2 3f wavg 0n 1 4  / 2.8
(0#0f)wavg 0#0f  / 0n
0 0f wavg 1 2f  / 0n
1 2f wavg 0w -0w  / 0n
1 2f wavg 1 2 3f  / 'length
