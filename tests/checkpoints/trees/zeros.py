"""Run in two processes with DeepSpeed: trains a small model and saves it, beside what it holds; or goes on from what was saved.
The first argument is a folder, the others are cases: a stage of ZeRO, a type, and perhaps the most parameters of a group of
stage 3; after a + the name of a folder to go on from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import deepspeed
import torch
from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
from torch import nn

OUT = Path(sys.argv[1])
sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]  # it would be compiled for minutes


class Net(nn.Module):
    """Tied weights, a frozen one, buffers, sizes that do not divide."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.emb, self.fix, self.mid = nn.Embedding(11, 6), nn.Linear(6, 7), nn.Linear(7, 6)
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, 11, bias=False)
        self.head.weight = self.emb.weight
        self.fix.weight.requires_grad_(False)
        self.scale = nn.Parameter(torch.tensor([1.5]))
        self.register_buffer("shift", torch.arange(6.0) / 7)
        self.register_buffer("seen", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> Any:
        h = self.norm(self.mid(torch.tanh(self.fix(self.emb(x)))))
        return self.head((h + self.shift.to(h.dtype)) * self.scale)


def made(stage: int, dtype: str, most: int = 10**9) -> Any:
    net = Net()
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([{"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
                                   {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0, "lr": 0.003}], lr=0.01)
    zero = {"stage": stage, "stage3_param_persistence_threshold": 0, "sub_group_size": most}
    settings = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": zero, "gradient_clipping": 0.5, "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False, "bf16": {"enabled": dtype == "bf16"}}
    engine, optimizer, _, _ = deepspeed.initialize(model=net, optimizer=optimizer, config=settings)
    return engine, optimizer


def train(engine: Any) -> None:
    for _ in range(3):
        torch.manual_seed(100 + 2 * engine.global_steps + engine.global_rank)
        x = torch.randint(0, 11, (4,))
        engine.backward(nn.functional.cross_entropy(engine(x).float(), (x + 1) % 11))
        engine.step()


def tell(engine: Any, optimizer: Any, path: Path) -> None:
    """Write what the program itself holds."""
    if hasattr(optimizer, "_hp_optimizer_states_linked"):  # stages 1 and 2 link the first group's alone
        optimizer._hp_optimizer_states_linked = False
        optimizer._lazy_init_hp_params_optimizer_state()
    held: dict[str, Any] = {"full": {}, "exp_avg": {}, "exp_avg_sq": {}, "lr": [group["lr"] for group in optimizer.param_groups]}
    for name, p in engine.module.named_parameters():
        if p.requires_grad:
            held["full"][name] = safe_get_full_fp32_param(p).clone()
            for key in ("exp_avg", "exp_avg_sq"):
                held[key][name] = safe_get_full_optimizer_state(p, key).clone()
        else:
            with deepspeed.zero.GatheredParameters([p]):
                held["full"][name] = p.detach().clone()
    held["full"]["head.weight"] = held["full"]["emb.weight"]
    held["full"] |= {name: buffer.clone() for name, buffer in engine.module.named_buffers()}
    if not engine.global_rank:
        torch.save(held, path)


def main() -> None:
    deepspeed.init_distributed("gloo", init_method=os.environ["STORE"], rank=int(os.environ["RANK"]), world_size=2)
    for case in sys.argv[2:]:
        stage, dtype, *most = case.lstrip("+").split("-")[0].split("_")
        engine, optimizer = made(int(stage[1:]), dtype, *map(int, most))
        folder = OUT / case.lstrip("+")
        if case[0] == "+":
            engine.load_checkpoint(folder)
            train(engine)
            tell(engine, optimizer, folder.with_suffix(".after"))
            continue
        train(engine)
        engine.save_checkpoint(folder, client_state={"epoch": 3, "note": "a text"})
        tell(engine, optimizer, folder.with_suffix(".truth"))
        if not engine.global_rank:
            torch.save(get_fp32_state_dict_from_zero_checkpoint(str(folder)), folder.with_suffix(".joined"))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
