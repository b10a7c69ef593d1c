"""Programs of transformers, Lightning and accelerate go on from checkpoints that kshell has written over."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.session import Session

pytestmark = [pytest.mark.extra, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PROGRAMS = {
    "transformers": """
import sys, torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
torch.manual_seed(1)
net = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2, use_cache=False))
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        ids = torch.arange(i, i + 16) % 64
        return {"input_ids": ids, "labels": ids}
settings = TrainingArguments("out", max_steps=8, per_device_train_batch_size=4, report_to=[], save_steps=4, use_cpu=True,
                             disable_tqdm=True, learning_rate=1e-2, lr_scheduler_type="linear", seed=3)
trainer = Trainer(model=net, args=settings, train_dataset=Data())
trainer.train(resume_from_checkpoint=sys.argv[1] if len(sys.argv) > 1 else None)
torch.save(net.state_dict(), "end.pt")
""",
    "lightning": """
import sys, torch, lightning as L
torch.manual_seed(1)
class Lit(L.LightningModule):
    def __init__(self, width=16, rate=.01):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    def training_step(self, batch, i):
        a, b = batch
        return torch.nn.functional.mse_loss(self.net(a), b)
    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 3)]
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 8), torch.randn(32, 1)), batch_size=8)
kept = L.pytorch.callbacks.ModelCheckpoint("out", filename="{epoch}", save_top_k=-1)
trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, callbacks=[kept], enable_progress_bar=False,
                    enable_model_summary=False)
net = Lit()
trainer.fit(net, data, ckpt_path=sys.argv[1] if len(sys.argv) > 1 else None)
torch.save(net.state_dict(), "end.pt")
""",
    "accelerate": """
import sys, torch
from accelerate import Accelerator
torch.manual_seed(1)
accelerator = Accelerator(cpu=True)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(.1), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
net, optimizer = accelerator.prepare(net, optimizer)
x = torch.randn(8, 8)
if len(sys.argv) > 1:
    accelerator.load_state(sys.argv[1])
for step in range(4 if len(sys.argv) > 1 else 0, 8):
    optimizer.zero_grad()
    accelerator.backward(net(x).square().mean())
    optimizer.step()
    if step == 3:
        accelerator.save_state("out")
torch.save(net.state_dict(), "end.pt")
""",
}
SAVED = {"transformers": "out/checkpoint-4", "lightning": "out/epoch=1.ckpt", "accelerate": "out"}
FILES = {"transformers": ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "model.safetensors"),
         "lightning": ("",), "accelerate": ("optimizer.bin", "random_states_0.pkl", "model.safetensors")}
RATES = {"transformers": ("optimizer.pt", "param_groups"), "lightning": ("", "optimizer_states"), "accelerate": ("optimizer.bin", "param_groups")}


def end(program: str, *given: str) -> dict[str, Any]:
    """The weights at the end of a program, which begins from a checkpoint if one is given."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    subprocess.run([sys.executable, "-c", PROGRAMS[program], *given], check=True, capture_output=True, env=env, timeout=300)
    return torch.load("end.pt", weights_only=True)  # type: ignore[no-any-return]


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_goes_on(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files that were read and written, to the same bits; from another rate elsewhere, and with that undone to the
    same bits again."""
    pytest.importorskip(program)
    monkeypatch.chdir(tmp_path)
    end(program)
    saved = SAVED[program]
    (shutil.copytree if Path(saved).is_dir() else shutil.copy)(saved, "before")
    wanted = end(program, saved)
    session = Session(out=io.StringIO(), err=io.StringIO())
    for file in FILES[program]:
        path = os.path.join(saved, file) if file else saved
        session.run(f"p:`$\":{path}\";ckpt(p;ckpt p)")
    assert equal(end(program, saved), wanted)
    file, key = RATES[program]
    path = os.path.join(saved, file) if file else saved
    groups = f"`{key}" if program != "lightning" else f"`{key};0;`param_groups"
    session.run(f"p:`$\":{path}\";d:ckpt p;g:d[{groups}];was:g`lr;d[{groups}]:update lr:.5 from g;ckpt(p;d)")
    assert not equal(end(program, saved), wanted)
    session.run(f"d:ckpt p;d[{groups}]:update lr:was from d[{groups}];ckpt(p;d)")
    assert equal(end(program, saved), wanted)
