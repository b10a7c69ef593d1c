/ functions of libraries
f:`ktorch 2:`tensor,1;f f 1 2 3  / 1 2 3
type`ktorch 2:`tensor,1  / 112h
(`ktorch 2:(`neg0;1);1)  / 'neg0
(`ktorch 2:`device,1)[]  / `cpu
2:[`ktorch;(`options;1)]  / options
`:/a/b/ktorch 2:(`options;1h)  / options
`ktorch.so 2:`options,1  / options
tensor~`ktorch 2:`tensor,1  / 1b
type each(`ktorch 2:`fns,1)[]`tensor`module`opt`run  / 112 112 112 112h
key[d]~key d:(`ktorch 2:`fns,1)[]  / 1b
all 112h=type each value(`ktorch 2:`fns,1)[]  / 1b
11 112h~distinct type each(key d;first d:(`ktorch 2:`fns,1)[])  / 1b
/ a program puts the functions where it wants them
.nn:(`ktorch 2:`fns,1)[];.nn.tensor .nn.tensor 4 5e  / 4 5e
{key[x]set'x;}(`ktorch 2:`fns,1)[];test:3;run:4;tensor tensor test+run  / 7
{key[x]set'get x}(`ktorch 2:`fns,1)[];free t:tensor 1 2;@[tensor;t;::]  / "stale pointer"
{key[x]set'x;}(`ktorch 2:`fns,1)[];x:tensor 1 2e;use[x]mul(x;3e);tensor x  / 3 6e
data:1 2;{(x`tensor)x[`tensor]y}[(`ktorch 2:`fns,1)[]]data  / 1 2
/ errors
`ktorch 2:`nothing,1  / 'nothing
`ktorch 2:`tensor,2  / 'rank
`ktorch 2:`tensor,0  / 'rank
`ktorch 2:`tensor  / 'type
`ktorch 2:1 2  / 'type
`ktorch 2:`a`b  / 'type
`ktorch 2:(`tensor;1;1)  / 'length
"ktorch"2:`tensor,1  / 'type
`nolibrary 2:`f,1  / 'nolibrary.so: cannot open shared object file: No such file or directory
`:/tmp/nolibrary.so 2:`f,1  / '/tmp/nolibrary.so: cannot open shared object file: No such file or directory
`:pyproject.toml 2:`f,1  / 'nyi

/ .Q.S, which tools that show results call
.Q.S[system"c";0;([]a:til 2;b:`x`y)]  / "a b"\n"---"\n"0 x"\n"1 y"
.Q.S[2 20;0j;til 10]  / "0 1 2 3 4 5 6 7 8 9"
count each .Q.S[3 15;0;(til 10;til 9)]  / 15 15
count .Q.S[2#1000;0;til[500]!til 500]  / 500
.Q.s[([]a:til 3)]~raze .Q.S[-2 -1+system"c";0;([]a:til 3)],\:"\n"  / 1b
.Q.S[25;0;1]  / 'type
.Q.S[25 80 1;0;1]  / 'length
.Q.S[25 80;1;1]  / 'domain
