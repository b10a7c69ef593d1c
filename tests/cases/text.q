string 0#0  / ()
string[1;2]  / 'rank
string[1;2;3]  / 'rank
show 1 2  / 1 2
show`a`b!1 2  / a| 1\nb| 2
show()  / ()
show"abc"  / "abc"
show([]a:0N 1)  / a\n-\n\n1
show 0#0  / `long$()
type show 1  / 1\n101h
show[1;2]  / 'rank
show nosuch  / 'nosuch
show 1+`a  / 'type
