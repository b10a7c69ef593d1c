"""Programs of transformers, accelerate and Lightning, which know nothing of kshell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.programs import running

pytestmark = [pytest.mark.extra, pytest.mark.slow]
TRAINERS = {
    "transformers": """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
torch.manual_seed(1)
net = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False))
log = open("log.txt", "w", buffering=1)
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8000
    def __getitem__(self, i):
        ids = torch.arange(i, i + 16) % 64
        return {"input_ids": ids, "labels": ids}
class Say(TrainerCallback):
    def on_step_end(self, args, state, control, optimizer=None, **kwargs):
        print(state.global_step, optimizer.param_groups[0]["lr"], file=log)
settings = TrainingArguments("out", max_steps=900, per_device_train_batch_size=8, report_to=[], save_strategy="no",
                             use_cpu=True, disable_tqdm=True, learning_rate=1e-3, lr_scheduler_type="constant")
Trainer(model=net, args=settings, train_dataset=Data(), callbacks=[Say()]).train()
""",
    "accelerate": """
import time, torch
from accelerate import Accelerator
torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=.001)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6400, 8), torch.randn(6400, 1)), batch_size=16)
net, optimizer, data = accelerator.prepare(net, optimizer, data)
log = open("log.txt", "w", buffering=1)
def main():
    for step, (a, b) in enumerate(data, 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(a), b)
        accelerator.backward(loss)
        optimizer.step()
        print(step, optimizer.param_groups[0]["lr"], file=log)
        time.sleep(.01)
main()
""",
    "lightning": """
import time, torch
import lightning as L
torch.manual_seed(1)
log = open("log.txt", "w", buffering=1)
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    def training_step(self, batch, i):
        a, b = batch
        return torch.nn.functional.mse_loss(self.net(a), b)
    def on_train_batch_end(self, *args):
        print(self.global_step, self.trainer.optimizers[0].param_groups[0]["lr"], file=log)
        time.sleep(.01)
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=.001)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8000, 8), torch.randn(8000, 1)), batch_size=8)
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False)
net = Lit()
trainer.fit(net, data)
""",
}
FIRST = {"transformers": "transformer.wte", "accelerate": "0", "lightning": "net.0"}
LAST = {"transformers": "(`lm_head;(`linear;16;64;0b))", "accelerate": "(`2;(`linear;16;1))", "lightning": "(`net.2;(`linear;16;1))"}


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_is_queried_and_edited(tmp_path: Path, name: str) -> None:
    pytest.importorskip(name)
    with running(tmp_path, TRAINERS[name], HF_HUB_OFFLINE="1") as program:
        client = program.client()
        program.wait_for(6)
        gradients = client("select name,norm from gradtable optimizer")
        assert len(gradients["name"]) >= 4 and all(gradients["norm"] > 0)
        steps = client(".run.steps")
        assert all(steps["loss"] > 0) and steps["lr"][-1] == 0.001
        client("lr(optimizer;.0004;1b)")  # the rate from which the scheduler computes, too
        client(f"freeze(net;`{FIRST[name]})")
        path, spec = LAST[name][1:-1].split(";", 1)
        client(f"child(net;{path};{spec})")
        edits = client(".run.edits")
        assert set(edits["edit"]) == {0, 1, 2}
        at = max(edits["step"])
        assert client(f'exec all not gradflag from parmtable net where name like "{FIRST[name]}*"')
        client.close()
        program.wait_for(at + 3)
        rates = {float(words[1]) for words in program.log if int(words[0]) > at}
        assert {round(rate, 7) for rate in rates} == {0.0004}
