"""Programs of transformers, accelerate and Lightning, which know nothing of kshell and log as those of programs.py."""

from __future__ import annotations

from tests.host.programs import BEGIN, SEEN

TRAINERS = {
    "transformers": BEGIN + SEEN + """
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
net = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, use_cache=False))
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8000
    def __getitem__(self, i):
        ids = torch.arange(i, i + 16) % 64
        return {"input_ids": ids, "labels": ids}
class Say(TrainerCallback):
    def on_optimizer_step(self, args, state, control, optimizer=None, **kwargs):
        say(state.global_step + 1, optimizer, *seen(net, net.transformer.wte, net.lm_head))
settings = TrainingArguments("out", max_steps=900, per_device_train_batch_size=8, report_to=[], save_strategy="no",
                             use_cpu=True, disable_tqdm=True, learning_rate=1e-3, lr_scheduler_type="constant")
Trainer(model=net, args=settings, train_dataset=Data(), callbacks=[Say()]).train()
""",
    "accelerate": BEGIN + SEEN + """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=.001)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(6400, 8), torch.randn(6400, 1)), batch_size=16)
net, optimizer, data = accelerator.prepare(net, optimizer, data)
def main():
    for step, (a, b) in enumerate(data, 1):
        optimizer.zero_grad()
        accelerator.backward(torch.nn.functional.mse_loss(net(a), b))
        optimizer.step()
        say(step, optimizer, *seen(net, net[0], net[2]))
main()
""",
    "lightning": BEGIN + SEEN + """
import lightning as L
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    def training_step(self, batch, i):
        a, b = batch
        return torch.nn.functional.mse_loss(self.net(a), b)
    def on_train_batch_end(self, *args):
        say(self.global_step, self.trainer.optimizers[0], *seen(net, self.net[0], self.net[2]))
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=.001)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8000, 8), torch.randn(8000, 1)), batch_size=8)
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False)
net = Lit()
trainer.fit(net, data)
""",
}
