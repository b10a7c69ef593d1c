count 5?10  / 5
all(100?10)within 0 9  / 1b
type 3?2.5  / 9h
all(100?2.5)within 0 2.5  / 1b
asc -5?5  / `s#0 1 2 3 4
-6?5  / 'length
count distinct -3?`a`b`c`d  / 3
asc 0N?4  / `s#0 1 2 3
all(20?`a`b)in`a`b  / 1b
type 3?0Ng  / 2h
count each string 3?`5  / 5 5 5
all(50?" ")in .Q.a  / 1b
type 3?0b  / 1h
type 3?0x0  / 4h
type 3?0i  / 6h
type 3?2012.09m  / 13h
all(50?12:00)<12:00  / 1b
all(50?0t)<24:00  / 1b
count 0?10  / 0
2.5?10  / 'type
3?-5  / 'domain
type rand 1.5  / -9h
(rand 5)within 0 4  / 1b
rand enlist`x  / `x
{system"S 7";5?100}[]~{system"S 7";5?100}[]  / 1b
(rand 2.5)within 0 2.5  / 1b
type rand 0b  / -1h
type rand 0Ng  / -2h
(rand`a`b)in`a`b  / 1b
rand[1;2]  / 'rank
rand -5  / 'domain
rdom:`a`b`c;key 5?`rdom  / `rdom
all(value 20?`rdom)in rdom  / 1b
asc value -3?`rdom  / `s#`a`b`c
-4?`rdom  / 'length
2?`nosuchdomain  / 'type
