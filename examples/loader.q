/ Python's parts in training: images that a DataLoader deals out, moved by a random pixel by a generator function; a class
/ of the user's as the network, a loss and a metric in Python, a callback in q.
/ Data: data/README.md. The first 1,297 images train, the last 500 test.

setting(`threads;1)
seed 3
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"
x:1797 1 8 8#"e"$(raze flip -1_raw)%16
y:last raw
n:1297

p)import torch
p)from torch.utils.data import DataLoader, TensorDataset
p)class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.out = torch.nn.Linear(16 * 16, 10)
    def forward(self, x):
        return self.out(torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1))
p)def smooth(out, target): return torch.nn.functional.cross_entropy(out, target, label_smoothing=0.05)
p)def second(out, target): return (out.topk(2).indices == target[:, None]).any(1).float().mean()
p)def moved():
    for x, y in loader:
        up, left = (int(n) for n in torch.randint(-1, 2, (2,)))
        yield x.roll((up, left), (2, 3)), y

.p.set[`x;tensor n#x]; .p.set[`y;tensor n#y]
p)loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

q:.p.eval["Net()"]`
m:model(q; .p.get`smooth; opt(`adamw;q;.005))
train(m;.p.get`moved)                              / 0N: a generator does not say how many batches it has
train(m;`metric;(enlist`second)!enlist .p.get`second)
test(m;`batchsize`metrics;500,`accuracy); test(m;n _ x;n _ y);

steps:0
train(m;`callback;{steps+:1})
{[e]r:run m; -1"epoch ",(-2$string 1+e),"  loss ",.Q.fmt[6;4;r 0],"  among the best two ",.Q.fmt[5;3;r 1];}each til 8;
-1"steps ",string steps;
-1"accuracy ",.Q.f[1;testrun m],"%";
