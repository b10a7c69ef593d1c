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
