/ internal functions
-8!1i  / 0x010000000d000000fa01000000
-8!enlist 1i  / 0x010000001200000006000100000001000000
-8!`byte$til 5  / 0x01000000130000000400050000000001020304
-8!`byte$enlist til 5  / 0x01000000190000000000010000000400050000000001020304
-8!`a`b!2 3i  / 0x0100000021000000630b0002000000610062000600020000000200000003000000
-8!`s#`a`b!2 3i  / 0x01000000210000007f0b0102000000610062000600020000000200000003000000
-8!([]a:enlist 2i;b:enlist 3i)  / 0x010000002f0000006200630b000200000061006200000002000000060001000000020000000..
-8!([a:enlist 2i]b:enlist 3i)  / 0x010000003f000000636200630b0001000000610000000100000006000100000002000000620..
-8!{x+y}  / 0x010000001500000064000a00050000007b782b797d
-8!0n  / 0x0100000011000000f7000000000000f8ff
sym:`a`b;-8!`sym$`b  / 0x010000000b000000f56200
{x~-9!-8!x}each(1 2;`a`b;("ab";"c");2 3#til 6;`a`b!(1;"x");([]a:1 2);([k:1 2]v:3 4);+;{x};sum;+/;(1+);::)  / 1111111111111b
{x~-9!-18!x}each(til 1000;1000#"a";1 2;1000#`a)  / 1111b
-9!0x0102  / 'badmsg
-9!0x010000000d000000630001000000  / 'badmsg
-9!"abc"  / 'badmsg
-9!1  / 'type
(-22!til 10)=count -8!til 10  / 1b
-4!"a+1 2"  / ,"a"\n,"+"\n"1 2"
-4!1  / 'type
-4!"a  / c\nb"  / ,"a"\n," "\n" / c"\n,"\n"\n,"b"
-4!"1 2\n3"  / "1 2"\n,"\n"\n,"3"
-4!"/ c\n  a"  / "/ c"\n,"\n"\n," "\n," "\n,"a"
{x~raze -4!x}each("/ c\n1 / d\n\n  f:{\n  x}\n/\nb\n\\\n 2  ";"1 2 / c\n\n/ d\n3 4 -5\r\n6";"\"ab")  / 111b
-105!({x+y};(1;`a);{x})  / 'rank
-105!({x+y};(1;`a);{(x;count y)})  / "type"\n2
-105!(+;1 2;{x})  / 3
-105!(+;1 2)  / 'length
-14!"ab"  / "ab"
-27!(2;1.005 2)  / "1.00"\n"2.00"
-10!30h  / 1b
-10!1h  / 'type
-7!`:/tmp/kshell_none  / '/tmp/kshell_none. OS reports: No such file or directory
-5!"1+2"  / +\n1\n2
-25!(7 8;0)  / '7 is not an ipc handle
-30!(8i;0b;1)  / 'domain
`:/tmp/kshell_t/log set();h:hopen`:/tmp/kshell_t/log;h enlist(`upd;1);h enlist(`upd;2);hclose h;s:0;upd:{s+::x};n:-11!`:/tmp/kshell_t/log;(n;s)  / 2 3
`:/tmp/kshell_t/log set();h:hopen`:/tmp/kshell_t/log;h enlist(`upd;1);h enlist(`upd;2);hclose h;upd:{x};(-11!(1;`:/tmp/kshell_t/log);-11!(-2;`:/tmp/kshell_t/log))  / 1 2
`:/tmp/kshell_t/log set();h:hopen`:/tmp/kshell_t/log;h enlist(`upd;1);h 0x0102;hclose h;-11!(-2;`:/tmp/kshell_t/log)  / 1 28
`:/tmp/kshell_t/log set();h:hopen`:/tmp/kshell_t/log;h enlist(`upd;1);h 0x0102;hclose h;upd:{x};-11!`:/tmp/kshell_t/log  / 'badtail
`:/tmp/kshell_t/c set til 50000;-19!(`:/tmp/kshell_t/c;`:/tmp/kshell_t/c2;17;2;6);get[`:/tmp/kshell_t/c2]~til 50000  / 1b
count -21!`:/tmp/kshell_t/c  / 0
-999!1  / 'nyi
ra:1 2 3;-16!ra  / 1i
rb:rc:rd:ra;-16!ra  / 4i
(-9!-8!{x in 1 2})2  / 1b
(-9!-8!{2 xexp x}) 3  / 8f
-9!-8!2 0#0n  / `float$()\n`float$()
-22!2 3 0#0  / 62

count -18!100#0  / 814
count -18!til 1000  / 3276
-9!0x010000000b000000ff02  / 'badmsg
-9!0x010000000a000000ff01  / 1b
-9!0x010000000a000000ff02  / 'badmsg
-9!-8!101b  / 101b
.Q.addr`localhost  / 2130706433i
.Q.addr`$"no.such.host.invalid"  / -1i
-9!0x0100000010000000010002000000,0x0102  / 'badmsg
-9!0x0100000010000000010002000000,0x0101  / 11b
