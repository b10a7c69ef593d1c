/ without threads, peach is each
{pa::x}peach 1 2;pa  / 2
{[x]x*2}peach`a`b!1 2  / a| 2\nb| 4
{x}peach 5  / 5
{x}peach()  / ()
(neg)peach(1 2;3)  / -1 -2\n-3
/ with two
system"s 2";{x,x}peach 1 2 3  / 1 1\n2 2\n3 3
{x,x}':[1 2 3]  / 1 1\n2 2\n3 3
{(x;.z.r)}peach 1 2  / 1 1b\n2 1b
{(x;.z.r)}peach enlist 1  / 1 0b
{x*2}peach`a`b!(1 2;3)  / a| 2 4\nb| 6
{`pa set x}peach 0 1  / 'noupdate: `. `pa
{`pa set x}peach enlist 0  / ,`pa
{pa::x}peach 0 1  / 'noupdate: `. `pa
{.n2.a:x}peach 0 1  / 'noupdate: `.n2 `a
pv:1 2 3;{pv[0]:x}peach 0 1  / 'noupdate: `. `pv
{pv,:x}peach 0 1  / 'noupdate: `. `pv
{@[`pv;0;:;x]}peach 0 1  / 'noupdate: `. `pv
pv  / 1 2 3
{l:x;l[0]:9;l,:x;l}peach(1 2;3 4)  / 9 2 1 2\n9 4 3 4
{$[x=7;'"seven";x=3;'"three";x]}peach til 10  / 'three
@[{x+`a}peach;1 2;{`caught}]  / `caught
{{x+1}peach x}peach(1 2;3 4)  / 2 3\n4 5
{system"ls"}peach 0 1  / 'sys
pw::pa+10  /
{pw+x}peach 1 2  / 'threadview
pw;{pw+x}peach 1 2  / 11 12
pe:{$[x>0;1+.z.s x-1;0]};pe peach 900 901  / 900 901
count distinct{x?1.}peach 2#5  / 2
.Q.fc[{x*x};til 10]  / 0 1 4 9 16 25 36 49 64 81
.Q.fc[count;til 10]  / 5 5
.Q.fc[{x};([]a:1 2 3)]  / a\n-\n1\n2\n3
.Q.fc[neg;1]  / -1
{exit x}peach 3 4  / exit 3
system"s 0";{pa::x}peach 5 6;pa  / 6
