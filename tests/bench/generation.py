"""Continuing text: `generate` against transformers' own, for a tiny model and one of 100 million parameters."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

from kshell.kapi.base.convert import as_tensor
from kshell.session import Session
from tests.bench.timing import least, paired, row

SETTINGS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None, "max_position_embeddings": 1024}
TINY = SETTINGS | {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 2}
LARGE = SETTINGS | {"vocab_size": 16000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
                    "num_attention_heads": 12, "num_key_value_heads": 4}
GPT2 = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
SMALL_GPT2 = GPT2 | {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}
CASES = (("Llama, tiny", "Llama", "ForCausalLM", TINY, 50), ("GPT-2, tiny", "GPT2", "LMHeadModel", SMALL_GPT2, 50),
         ("Mixtral, tiny", "Mixtral", "ForCausalLM", TINY | {"num_local_experts": 4}, 50),
         ("Llama, 100 million parameters", "Llama", "ForCausalLM", LARGE, 20),
         ("GPT-2, 124 million parameters", "GPT2", "LMHeadModel", GPT2, 20))


def report(device: str = "cpu") -> list[str]:
    """The lines; on the CPU by its seconds, elsewhere by the clock, without copies from there."""
    try:
        import transformers
    except ImportError:
        return ["     transformers is not installed: make setup-all"]
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    out = []
    for name, family, head, settings, most in CASES:
        torch.manual_seed(0)
        model = getattr(transformers, family + head)(getattr(transformers, f"{family}Config")(**settings)).eval()
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            model = type(model).from_pretrained(folder).eval().to(device)
            s = Session()
            s.run(f'm:hub`$":{folder}";to(m;`{device});x:tensor(enlist 1+til 8;`{device})')
            ids = torch.arange(1, 9, device=device)[None]

            def peer(model: Any = model, ids: Any = ids, most: int = most) -> Any:
                return model.generate(ids, max_new_tokens=most, do_sample=False, pad_token_id=0)

            assert torch.equal(as_tensor(s.run(f"tensor generate(m;x;{most})")), peer().cpu())
            timed = least if device == "cpu" else paired
            ours, theirs = timed(lambda s=s, most=most: s.run(f"y:generate(m;x;{most})"), peer, 9)  # type: ignore[misc]
            out.append(row(f"a token of {name}", ours / most, theirs / most, 1, "transformers"))
    return out
