"""Conditions that are watched, and the first value that is not finite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.programs import BEGIN, END, PROGRAMS, Refused, running

# layer 2 of 5 makes two rows of a batch infinite at a step
PLANTED = BEGIN + """
class Odd(torch.nn.Module):
    def forward(self, x):
        return x.masked_fill(x[:, :1] > 90, float('inf'))
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(.1), Odd(), torch.nn.ReLU(), torch.nn.Linear(8, 1))
with torch.no_grad():
    net[0].weight.copy_(torch.eye(8))
    net[0].bias.zero_()
loss_fn = torch.nn.MSELoss()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
def main():
    for step in range(1, STEPS + 1):
        x = torch.randn(64, 8)
        y = x.sum(1, keepdim=True)
        if step == int(os.environ["BAD"]):
            x[5, 0] = x[17, 0] = 1000.
        optimizer.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        optimizer.step()
        say(step, optimizer, loss.item(), digest(net))
main()
""" + END


def test_the_first_step_layer_and_rows_that_are_not_finite(tmp_path: Path) -> None:
    with running(tmp_path, PLANTED, BAD="100", PAUSE="0.01", STEPS="2000") as program:
        client = program.client()
        client('watch[`nan;"finite";"pause"]')
        client.close()  # it is looked for though nobody is there
        program.wait_for(90)
        client = program.client()
        program.until(lambda: len(client(".run.found")["step"]) or None)
        found = client(".run.found")
        assert list(found["step"]) == [100] and list(found["layer"]) == ["2"]
        assert found["what"][0] == b"the loss is" and list(found["rows"][0]) == [5, 17]
        assert client(".run.step") == 99  # it waits before the step
        assert client("exec max norm from parmtable net") < 100
        client("skip[]")
        client("go[]")
        program.wait_for(105)
        assert client("any null exec norm from parmtable net") == False  # noqa: E712 (a boolean of numpy)
        assert client(".run.found")["step"].tolist() == [100]
        assert b"skip[]" in list(client(".run.edits")["text"])
        losses = {int(words[0]): words[2] for words in program.log}
        assert losses[100] in ("nan", "inf") and losses[101] not in ("nan", "inf")


@pytest.mark.slow
def test_a_condition_in_q(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], PAUSE="0.01", STEPS="2000") as program:
        client = program.client()
        at = client(".run.step") + 30
        client(f'watch[`late;".run.step>={at}";"lr(optimizer;.004)"]')
        client('watch[`wrong;"nothing>1"]')
        with pytest.raises(Refused, match="no such watch"):
            client("unwatch`other")
        program.until(lambda: client("first lr optimizer") == 0.004 or None)
        watches = client(".run.watches")
        assert watches["fired"].tolist() == [1, 0] and watches["step"][0] == at
        assert list(watches["problem"]) == [b"", b"nothing"]
        edits = client(".run.edits")
        assert list(edits["user"]) == ["late"] and edits["step"].tolist() == [at]
        client("unwatch`wrong")
        client('watch[`stop;"1b";"pause"]')
        at = program.until(lambda: client(".run.step"))
        assert client(".run.step") == client(".run.step")
        client("unwatch`stop")
        client("go[]")
        program.wait_for(at + 3)


@pytest.mark.slow
def test_a_pause_of_a_watch_waits_for_a_client(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], PAUSE="0.01", STEPS="2000") as program:
        client = program.client()
        at = client(".run.step") + 20
        client(f'watch[`late;".run.step={at}";"pause"]')
        client.close()
        program.wait_for(at - 1)
        second = program.client()
        assert second(".run.step") <= at
        program.until(lambda: second(".run.step") == at or None)
        assert second(".run.step") == at
        second.close()
        program.wait_for(at + 3)

