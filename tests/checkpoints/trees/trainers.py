"""Run in two processes with Lightning or accelerate: trains a small model of which each process has a part, and saves it as that
program does. The first argument is a folder, the others are cases; after a + what was saved, to go on from."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
)
from torch.distributed.fsdp import fully_shard

OUT = Path(sys.argv[1])
WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)
warnings.simplefilter("ignore")


def made() -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 1))
    net.register_buffer("seen", torch.tensor(5))
    return net


def tell(value: Any, path: Path) -> None:
    if not dist.get_rank():
        torch.save(value, path)
    dist.barrier()


def lightning(name: str) -> None:
    """Its strategy for fully_shard; saved, or gone on with to the end of another epoch."""
    import lightning as L
    from lightning.pytorch.strategies import ModelParallelStrategy

    class Lit(L.LightningModule):
        def __init__(self, rate: float = 0.01) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.net = made()

        def configure_model(self) -> None:
            if not isinstance(self.net, torch.distributed.fsdp.FSDPModule):
                fully_shard(self.net, mesh=self.device_mesh["data_parallel"])

        def training_step(self, batch: Any, i: int) -> Any:
            return self.net(batch[0]).square().mean()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.hparams.rate)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 3)]

    torch.manual_seed(5)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 5)), batch_size=8)
    strategy = ModelParallelStrategy(save_distributed_checkpoint=True, process_group_backend="gloo")
    trainer = L.Trainer(max_epochs=2 if name[0] == "+" else 1, accelerator="cpu", devices=2, strategy=strategy, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    net = Lit()
    path = OUT / f"{name.lstrip('+')}.ckpt"
    trainer.fit(net, data, ckpt_path=path if name[0] == "+" else None)
    state = get_state_dict(net, trainer.optimizers[0], options=WHOLE)
    if name[0] == "+":
        tell(state, path.with_suffix(".after"))
    else:
        trainer.save_checkpoint(path)
        tell(state, path.with_suffix(".truth"))


def accelerate(name: str) -> None:
    """What accelerate's functions for FSDP write, which its Accelerator calls where there are GPUs."""
    from accelerate import Accelerator, FullyShardedDataParallelPlugin
    from accelerate.utils.fsdp_utils import save_fsdp_model, save_fsdp_optimizer

    accelerator = Accelerator(cpu=True)
    os.environ["ACCELERATE_USE_FSDP"] = "true"
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2, state_dict_type="SHARDED_STATE_DICT", cpu_ram_efficient_loading=False)
    net = made()
    fully_shard(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step in range(3):
        torch.manual_seed(step)
        net(torch.randn(4, 5)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    for kind, is_dcp in (("folders", True), ("files", False)):
        save_fsdp_model(plugin, accelerator, net, str(OUT / kind), 0, use_dcp=is_dcp)
        save_fsdp_optimizer(plugin, accelerator, optimizer, net, str(OUT / kind), 0, use_dcp=is_dcp)
        torch.save({"step": 3, "seed": torch.get_rng_state()}, OUT / kind / f"random_states_{dist.get_rank()}.pkl")
    tell(get_model_state_dict(net, options=WHOLE), OUT / "model.truth")


if __name__ == "__main__":
    for case in sys.argv[2:]:
        if case == "accelerate":
            accelerate(case)
        else:
            lightning(case)
    dist.destroy_process_group()
