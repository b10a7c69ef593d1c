(2 4#2 4 8 3 5 6 0 7f)mmu 4 3#"f"$til 12  / 87 104 121\n81 99  117
1 2 3f$4 5 6f  / 32f
1 2f mmu(1 2f;3 4f)  / 7 10f
(1 2f;3 4f)$1 1f  / 3 7f
1 2f mmu 1 2 3f  / 'length
1 2 mmu 1 2  / 'type
inv(2 0f;0 4f)  / 0.5 0\n0   0.25
1=c mmu inv c:3 3#2 4 8 3 5 6 0 7 1f  / 100b\n010b\n001b
inv(1 2f;2 4f)  / \n
a:1f+3 4#til 12;b:(2 7 -2 5f;5 3 6 1f;-2 5 2 7f;5 0 3 4f);a~(a lsq b)mmu b  / 1b
(1 2f;3 4f)mmu(1 0f;0 1f)  / 1 2\n3 4
0n 1f mmu 1 1f  / 0n
inv(1 0f;0 1f)  / 1 0\n0 1
inv enlist enlist 4f  / 0.25
inv(0 1f;1 0f)  / 0 1\n1 0
inv(1 2;3 4)  / 'type
inv 5f  / 'type
inv(1 2f;3 4f;5 6f)  / 'length
(1 2f;3 4f)lsq(1 0f;0 1f)  / 1 2\n3 4
(enlist 2 4f)lsq(2 0f;0 4f)  / 1 1
((1 2f;3 4f)lsq b)mmu b:(2 1f;1 3f)  / 1 2\n3 4
(2 3#1 1 1 1 1 1f)lsq 3 3#1 0 0 0 1 0 0 0 1f  / 1 1 1\n1 1 1
(1 2;3 4)lsq(1 0f;0 1f)  / 'type
(1 2f;3 4f)lsq(1 0 0f;0 1 0f)  / 'length
1 2f lsq 3f  / 'type
/ worked from first to last, so the digits of rounding are q's
A:(1.1 2.2 3.3;4.4 5.5 6.6;7.7 8.8 9.9);B:(1.1 2.1 3.1;2.3 3.4 4.5;5.6 7.8 9.8)  /
A lsq B  / 1.211009  -0.1009174 2.993439e-12\n-2.119266 2.926606   -3.996803e-12\n-5.449541 5.954128   -1.758593e-11
A mmu inv B  / 1.211009  -0.1009174 7.105427e-15\n-2.119266 2.926606   0\n-5.449541 5.954128   7.105427e-15
inv(0 1f;1 0f)  / 0 1\n1 0
null inv(1 2f;2 4f)  / 11b\n11b
(enlist 1 2f)lsq(1 2f;2 4f)  / 0.2 0.4
m:.5+"f"$(til 20)=/:til 20;1e-9>max max abs(m mmu inv m)-"f"$(til 20)=/:til 20  / 1b
1e-9>max max abs(m mmu m lsq m)-m  / 1b
null(1 2f;0n 3f)lsq(1 0f;0n 1f)  / 11b\n11b
(2 2 2#1 2 3 4f)mmu 2 2 1#1 0 0 1f  / 1 3\n2 4
(2 2 2#1 2 3 4f)mmu 1 10f  / 21 43\n21 43
(2 2 2#1 2 3 4f)mmu 3 2 1#1f  / 'length
(2 2 2#1 2 3 4f)mmu 2 3 1#1f  / 'length
(0#0f)$0#0f  / 0f
((20#1f)$20#2f;(20#1f)$20 2#1f;(2 20#1f)$20#1f;(2 20#1f)$20 3#1f)  / 40f\n20 20f\n20 20f\n(20 20 20f;20 20 20f)
