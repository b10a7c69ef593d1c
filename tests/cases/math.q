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
