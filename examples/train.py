"""A training program that knows nothing of kshell: `kshell run examples/train.py` lets a prompt look into it.

It trains a network on the handwritten digits of data/digits.csv: data/README.md says what they are. The first 1,297
images train, the last 500 test. One argument is the number of epochs.
"""

import sys
from pathlib import Path

import torch

torch.manual_seed(42)
torch.set_num_threads(1)  # batches this small are fastest on one thread

table = [list(map(int, line.split(","))) for line in (Path(__file__).parent / "data/digits.csv").read_text().split()]
pixels = torch.tensor([row[:-1] for row in table], dtype=torch.float32) / 16
digits = torch.tensor([row[-1] for row in table])

net = torch.nn.Sequential()
net.add_module("fc1", torch.nn.Linear(64, 128))
net.add_module("relu", torch.nn.ReLU())
net.add_module("drop", torch.nn.Dropout(0.25))
net.add_module("fc2", torch.nn.Linear(128, 10))
optimizer = torch.optim.AdamW(
    [{"params": net.fc1.parameters()}, {"params": net.fc2.parameters(), "weight_decay": 0.0}], lr=0.002
)


def accuracy():
    """The part of the test images that the network knows."""
    net.eval()
    with torch.no_grad():
        right = net(pixels[1297:]).argmax(1) == digits[1297:]
    net.train()
    return right.float().mean().item()


def train(epochs):
    """Train, with a line for each ten epochs."""
    for epoch in range(epochs):
        for batch in torch.randperm(1297).split(32):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(pixels[batch]), digits[batch])
            loss.backward()
            optimizer.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}, loss {loss.item():.4f}, accuracy {accuracy():.1%}", flush=True)


if __name__ == "__main__":
    train(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
