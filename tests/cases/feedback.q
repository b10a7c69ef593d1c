/ what tells how far and how long work is: errors change nothing
system"progress"  / 0i
system"progress 5";system"progress"  / 5i
system"progress -1"  / 'domain
system"progress x"  / 'type
autosave[]  /
autosave 0b  /
autosave 3  / 'autosave: expecting (file;seconds) or (file;n;`steps), given long scalar
autosave(`:a.ks;0)  / 'autosave: number of seconds out of range, given 0
autosave(`:a.ks;0;`steps)  / 'autosave: number of steps out of range, given 0
autosave(`:a.ks;1.5;`steps)  / 'autosave: expecting a number of steps, given double scalar
autosave(`:a.ks;`x)  / 'autosave: expecting a number of seconds, given symbol scalar
autosave(`:a.ks;5;`hours)  / 'autosave: unit is seconds or steps, given hours
autosave(`a.ks;5)  / 'autosave: expected a file symbol, given symbol scalar
@[autosave;(`:/proc/none/a.ks;5);0];autosave[]  /
plot`a  / 'plot: expected numbers, given symbol scalar
plot"abc"  / 'plot: expected numbers, given char list
plot 3  / 'plot: expected numbers, given long scalar
plot 0#0.  / 'plot: there is nothing to plot (given double list of 0)
plot([]a:`x`y)  / 'plot: expected numbers, given table
plot 33 2#1.  / 'plot: up to 32 curves, given 33
plot(`:a.gif;1 2)  / 'plot: a file ends in .png, .svg, .pdf, given a.gif
plot(`a;1 2)  / 'plot: expected a file symbol, given symbol scalar
logto[]  / `symbol$()
logto 0b  /
logto 3  / 'logto: expected a file symbol or a dictionary of numbers, given long scalar
logto`a  / 'logto: expected a file symbol, given symbol scalar
logto`a`b!1 2  / 'logto: there is no log: logto`:folder begins one (given kdictionary)
logto`a`b!(1;`x)  / 'logto: expected a dictionary of names and numbers, b is not a number (given kdictionary)
logto(-1;`a`b!1 2)  / 'logto: expected the number of a step, given long scalar
logto`:/proc/none  / '/proc/none/metrics.jsonl. OS reports: No such file or directory
x:1;cols profile"x"  / `fn`calls`total`own
cols profile"til 3"  / `fn`calls`total`own
exec calls from(`fn xasc profile"til each 1 2 3")where fn in`each`til  / 1 3
asc exec fn from profile"x:sin 1 2f;cos x"where fn in`sin`cos`tan  / `s#`cos`sin
f:{$[x<2;x;f[x-1]+f x-2]};exec calls from profile"f 10"where fn=`f  / ,177
exec all own<=total from profile"f 10"  / 1b
exec calls from profile("add(1 2e;1 2e)";`torch)where fn in(`add;`$"aten::add")  / 1 1
profile 3  / 'profile: expected text, or (text;`torch), given long scalar
profile("1";`gpu)  / 'profile: expected text, or (text;`torch), given general list
profile"1+`a"  / 'type
profile"1+)"  / ')
