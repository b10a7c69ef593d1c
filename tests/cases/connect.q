/ open files
h:hopen`:/tmp/kshell_t/h.txt;neg[h]"ab";neg[h]("c";"dd");hclose h;r:read0`:/tmp/kshell_t/h.txt;hdel`:/tmp/kshell_t/h.txt;r  / "ab"\n,"c"\n"dd"
h:hopen":/tmp/kshell_t/h.dat";h 0x0102;h"a";hclose h;r:read1`:/tmp/kshell_t/h.dat;hdel`:/tmp/kshell_t/h.dat;r  / 0x010261
h:hopen`:/tmp/kshell_t/x/y/h.txt;h~h"z";hclose h;hdel`:/tmp/kshell_t/x/y/h.txt  / `:/tmp/kshell_t/x/y/h.txt
`:/tmp/kshell_t/l set();h:hopen`:/tmp/kshell_t/l;h enlist(`f;1);h((`f;2);(`f;3));hclose h;get`:/tmp/kshell_t/l  / `f 1\n`f 2\n`f 3
`:/tmp/kshell_t/n set 1 2;h:hopen`:/tmp/kshell_t/n;h 3 4;hclose h;get`:/tmp/kshell_t/n  / 1 2 3 4
hclose 987  / '987: Bad file descriptor
hopen 1.5  / 'type
hclose`a  / 'type
987 "x"  / 'Cannot write to handle 987. OS reports: Bad file descriptor
0"1+1"  / 2
987[::]  / 'type
(987)0Ng  / 'type
987/[+]til 5  / 'type
987 deltas 1 2  / 'Cannot write to handle 987. OS reports: Bad file descriptor
987[+]  / 'type
