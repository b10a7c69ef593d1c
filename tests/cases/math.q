sqrt 4 2 -1  / 2 1.414214 0n
sqrt 0N  / 0n
exp 0 1 0n 0w  / 1 2.718282 0n 0w
log 1 0 -2  / 0 -0w 0n
sin 0 0.5  / 0 0.4794255
cos 0 0.5  / 1 0.8775826
tan 0 0.5  / 0 0.5463025
asin 0.5  / 0.5235988
acos 0.5  / 1.047198
atan 1  / 0.7853982
reciprocal 0 0w 0n 3 10  / 0w 0 0n 0.3333333 0.1
floor -2.1 0 2.1  / -3 0 2
floor 0n 0w -0w  / 0N 0W -0W
floor 3i  / 3i
floor "ABc"  / "abc"
floor 2000.01.01  / 'type
ceiling -2.1 0 2.1  / -2 0 3
ceiling 01b  / 0 1i
ceiling 1.5e  / 2
sqrt(4;9 16)  / 2f\n3 4f
sqrt`a  / 'type
sqrt 4 0N  / 2 0n
sqrt(0w;0Wh)  / 0w 181.0166
sqrt"\004"  / 2f
sqrt`a`b!4 9  / a| 2\nb| 3
sqrt 0Ng  / 'type
exp 0 0N  / 1 0n
exp -0w 0n 0w  / 0 0n 0w
exp 1b  / 2.718282
exp 00:00:00 12:00:00  / 1 0w
exp(0;0 0)  / 1f\n1 1f
exp`a`b!0 0  / a| 1\nb| 1
exp()  / ()
exp 0#0  / `float$()
exp`a  / 'type
exp{x}  / 'type
sin 0w 0n  / 0n 0n
sin 0N  / 0n
sin(0;0.5 0)  / 0f\n0.4794255 0
sin`a`b!0 0  / a| 0\nb| 0
sin 0#0h  / `float$()
sin 0b  / 0f
sin`a  / 'type
sin(1;`a)  / 'type
cos 0w 0n 0N  / 0n 0n 0n
cos(0;0 0)  / 1f\n1 1f
cos`a`b!0 0  / a| 1\nb| 1
cos()  / ()
cos 0b  / 1f
cos([]a:0 0)  / a\n-\n1\n1
cos`a  / 'type
cos 0Ng  / 'type
tan 0 0.5 1  / 0 0.5463025 1.557408
tan 0w 0N  / 0n 0n
tan 0i  / 0f
tan(0;0 0.5)  / 0f\n0 0.5463025
tan`a`b!0 1  / a| 0\nb| 1.557408
tan 0#0b  / `float$()
tan()  / ()
tan`a  / 'type
tan(+)  / 'type
asin 0 1 -1  / 0 1.570796 -1.570796
asin 2 -2 0n  / 0n 0n 0n
asin 0.8  / 0.9272952
asin(0;0.8)  / 0 0.9272952
asin`a`b!0 1  / a| 0\nb| 1.570796
asin 0#0  / `float$()
asin 0N  / 0n
asin`a  / 'type
asin 0Ng  / 'type
acos 1 0 -1  / 0 1.570796 3.141593
acos 2 0n  / 0n 0n
acos 1b  / 0f
acos(1;1 0)  / 0f\n0 1.570796
acos`a`b!1 1  / a| 0\nb| 0
acos 0#0  / `float$()
acos 0N  / 0n
acos`a  / 'type
acos 0Ng  / 'type
atan 0 1 0.5  / 0 0.7853982 0.4636476
atan 0w -0w 0n  / 1.570796 -1.570796 0n
atan 42  / 1.546991
atan 0N  / 0n
atan(0;1 1)  / 0f\n0.7853982 0.7853982
atan`a`b!0 1  / a| 0\nb| 0.7853982
atan 0#0i  / `float$()
atan`a  / 'type
atan 0Ng  / 'type
reciprocal 1b  / 1f
reciprocal -2 0N  / -0.5 0n
reciprocal(12;13 14)  / 0.08333333\n0.07692308 0.07142857
reciprocal`a`b!2 4  / a| 0.5\nb| 0.25
reciprocal 0#0  / `float$()
reciprocal 2000.01.03  / 0.5
reciprocal`a  / 'type
reciprocal 0Ng  / 'type
floor -0w 0n 0w  / -0W 0N 0W
floor 2.5e  / 2
floor"ABc"  / "abc"
floor(1.2;3.4 5.6)  / 1\n3 5
floor`a`b!(1.2;3.4 5.6)  / a| 1\nb| 3 5
floor 0#0f  / `long$()
floor 1b  / 'type
floor 2009.10.03T13:08:00.222  / 'type
floor 12:00  / 'type
ceiling -0w 0n 0w  / -0W 0N 0W
ceiling(1.2;3.4 5.6)  / 2\n4 6
ceiling([]a:1.2 3.4;b:5.6 7.8)  / a b\n---\n2 6\n4 8
ceiling 0#0f  / `long$()
ceiling 3h  / 3h
ceiling`a  / 'type
ceiling 2010.05.13  / 'type
ceiling 0Ng  / 'type
