/ several processes: one alone, and what is refused
rank[]  / 0
rank 3 1 2  / 2 0 1
rank 5  / 'rank
world[]  / 1
world 1  / 'world: takes no argument
worldrank()  / 0
barrier`a  / 'barrier: takes no argument
barrier[]  /
allreduce 5  / 5
allreduce 1 2 3f  / 1 2 3f
allreduce(1 2;`max)  / 1 2
tensor allreduce(tensor 1 2e;`avg)  / 1 2e
allreduce(1 2;`middle)  / 'allreduce: unrecognized operation middle, expecting one of sum, avg, min, max, prod
allreduce(1 2;`sum;3)  / 'allreduce: expecting a tensor or array, and sum, avg, min, max or prod
allreduce`a`b  / 'allreduce: expecting a tensor or array, given symbol list
allreduce loss`mse  / 'allreduce: expecting a tensor or array, given loss
vector allreduce vector(1 2;3 4)  / 1 2\n3 4
allgather([]a:1 2)  / +(,`a)!,1 2
count allgather`a  / 1
size allgather tensor 1 2  / 1 2
allgather loss`mse  / 'allgather: not implemented for losses
broadcast(`a`b;0)  / `a`b
broadcast(1 2;1)  / 'broadcast: source 1 is no process of 1
broadcast 1 2 3  / 'broadcast: expecting a value and the number of a process
broadcast(1 2;`a)  / 'broadcast: expecting a value and the number of a process
m:module enlist(`linear;2;1)  /
broadcast(m;0)  /
broadcast(m;2)  / 'broadcast: source 2 is no process of 1
broadcast(loss`mse;0)  / 'broadcast: losses cannot be sent
send(1;1)  / 'send: target 1 is no process of 1
recv 0  / 'recv: source 0 is this process itself
recv(1;0)  / 'recv: expecting a tensor to fill, given long scalar
shard`a`b  / `a`b
shard"abc"  / "abc"
tensor shard tensor(1 2;3 4)  / 1 2\n3 4
shard 5  / 'shard: expecting a list, table or tensor, given long scalar
shard tensor 5  / 'shard: tensor has no dimensions
say`a`b!1 2  / [0] a| 1\n[0] b| 2
