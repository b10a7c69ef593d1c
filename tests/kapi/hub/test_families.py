"""Folders that transformers has written, of each family: logits, tokens and pooled vectors are those of transformers."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import tensor_handle
from kshell.session import Session
from tests.support import warm

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("ignore")]
transformers = pytest.importorskip("transformers", reason="transformers is not installed: make setup-all")

SMALL = {"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
         "max_position_embeddings": 128, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
SHARED = SMALL | {"num_key_value_heads": 2}
GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, "bos_token_id": None, "eos_token_id": None}
VIT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 16, "patch_size": 4}
BERT = SMALL | {"pad_token_id": 0}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
LONG = {"rope_type": "longrope", "rope_theta": 500.0, "short_factor": [1.0, 1.1, 1.3, 1.5], "long_factor": [1.0, 2.0, 3.5, 8.0],
        "original_max_position_embeddings": 40}
SHORT = {"max_position_embeddings": 20}  # fewer places than the inputs have
# class of transformers, its settings
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama ForCausalLM", SHARED),
    "llama, a head for each": ("Llama ForCausalLM", SMALL | {"attention_bias": True, "mlp_bias": True, "hidden_act": "gelu"}),
    "llama, tied, llama3": ("Llama ForCausalLM", SHARED | {"tie_word_embeddings": True, "rope_parameters": LLAMA3}),
    "llama, linear, wide heads": ("Llama ForCausalLM", SHARED | {"head_dim": 12, "rope_parameters": {
        "rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}}),
    "llama, dynamic": ("Llama ForCausalLM", SHARED | {"rope_parameters": DYNAMIC}),
    "llama, dynamic, beyond": ("Llama ForCausalLM", SHARED | SHORT | {"rope_parameters": DYNAMIC}),
    "qwen2, dynamic, beyond": ("Qwen2 ForCausalLM", SHARED | SHORT | {"rope_parameters": DYNAMIC | {"factor": 1.5}}),
    "llama, longrope": ("Llama ForCausalLM", SHARED | {"rope_parameters": LONG}),
    "llama, longrope, beyond": ("Llama ForCausalLM", SHARED | {"rope_parameters": LONG | {"factor": 8.0, "original_max_position_embeddings": 20}}),
    "mistral, longrope, attention": ("Mistral ForCausalLM", SHARED | {"rope_parameters": LONG | {"attention_factor": 1.5}}),
    "llama, yarn, mscale": ("Llama ForCausalLM", SHARED | {"rope_parameters": YARN | {"mscale": 1.2, "mscale_all_dim": .7}}),
    "llama, no head": ("Llama Model", SHARED),
    "qwen2": ("Qwen2 ForCausalLM", SHARED | {"tie_word_embeddings": True}),
    "qwen2, windows, yarn": ("Qwen2 ForCausalLM", SHARED | {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1,
                                                            "rope_parameters": YARN}),
    "mistral": ("Mistral ForCausalLM", SHARED | {"sliding_window": 8}),
    "mistral, no window": ("Mistral ForCausalLM", SHARED | {"sliding_window": None}),
    "mixtral": ("Mixtral ForCausalLM", SHARED | {"num_local_experts": 4}),
    "mixtral, three of five": ("Mixtral ForCausalLM", SHARED | {"num_local_experts": 5, "num_experts_per_tok": 3}),
    "gpt2": ("GPT2 LMHeadModel", GPT2),
    "gpt2, not tied": ("GPT2 LMHeadModel", GPT2 | {"tie_word_embeddings": False, "n_inner": 40, "activation_function": "relu"}),
    "gpt2, no head": ("GPT2 Model", GPT2),
    "bert": ("Bert Model", BERT),
    "bert, masked words": ("Bert ForMaskedLM", BERT),
    "bert, a class": ("Bert ForSequenceClassification", BERT | {"num_labels": 3}),
    "bert, a class of each word": ("Bert ForTokenClassification", BERT | {"num_labels": 5, "hidden_act": "gelu_new"}),
    "vit": ("ViT ForImageClassification", VIT | {"num_labels": 3}),
    "vit, no head": ("ViT Model", VIT | {"qkv_bias": False, "image_size": [8, 16], "patch_size": [2, 4]}),
}
CAUSAL = [name for name, (cls, _) in MODELS.items() if "LM" in cls and "Bert" not in cls]


@pytest.fixture
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def reference(name: str, folder: Path, **options: Any) -> Any:
    """A model of transformers with random weights, all of them, saved to a folder."""
    cls, settings = MODELS[name]
    family, architecture = cls.split()
    torch.manual_seed(len(name))
    m = getattr(transformers, family + architecture)(getattr(transformers, f"{family}Config")(**settings)).eval()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * .2 + (p.ndim == 1))
    m.save_pretrained(folder, **options)
    return m


def inputs(name: str) -> torch.Tensor:
    torch.manual_seed(7)
    if name.startswith("vit"):
        size = MODELS[name][1]["image_size"]
        return torch.randn(2, 3, *(size if isinstance(size, list) else (size, size)))
    return torch.randint(1, 99, (2, 30))


def opened(s: Session, folder: Path, architecture: str = "") -> None:
    s.run(f'm:hub(`$":{folder}"{architecture and ";`" + architecture})')


def first(out: Any) -> torch.Tensor:
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


def same(s: Session, want: Any, call: str) -> None:
    """The result of a call is what transformers gives, to rounding."""
    got = s.run(call)
    if hasattr(want, "pooler_output") and want.pooler_output is not None:
        s.run("r:" + call)
        torch.testing.assert_close(as_tensor(s.run("r`pooler_output")), want.pooler_output, rtol=1e-5, atol=1e-5)
        got = s.run("r`last_hidden_state")
    torch.testing.assert_close(as_tensor(got), first(want), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_results(session: Session, tmp_path: Path, name: str) -> None:
    ref, x = reference(name, tmp_path), inputs(name)
    opened(session, tmp_path)
    session["x"] = tensor_handle(x)
    with torch.no_grad():
        same(session, ref(x), "eforward(m;x)")
    assert session.run("(module m)~module module module m") is True
    assert session.run("exec all trainable=elements from summary m") is True
    assert session.run("sum exec elements from parmtable m").__index__() == sum(p.numel() for p in ref.parameters())


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith("vit")])
def test_padding(session: Session, tmp_path: Path, name: str) -> None:
    """With a mask, and types of tokens where a model has them."""
    ref, x = reference(name, tmp_path), inputs(name)
    opened(session, tmp_path)
    mask, kinds = torch.ones(2, 30, dtype=torch.long), torch.randint(0, 2, (2, 30))
    mask[0, 20:] = 0
    for key, t in (("x", x), ("mask", mask), ("kinds", kinds)):
        session[key] = tensor_handle(t)
    named = {"attention_mask": mask} | ({"token_type_ids": kinds} if "bert" in name else {})
    with torch.no_grad():
        want = ref(x, **named)
    session.run("r:eforward(m;x;mask;kinds)" if "bert" in name else "r:eforward(m;x;mask)")
    got = as_tensor(session.run("r`last_hidden_state" if hasattr(want, "pooler_output") and "bert" in name else "r"))
    if got.dim() == 3:
        torch.testing.assert_close(got[mask.bool()], first(want)[mask.bool()], rtol=1e-5, atol=2e-5)
    else:
        torch.testing.assert_close(got, first(want), rtol=1e-5, atol=2e-5)
    if "bert" in name:
        session.run("q:eforward(m;x;`attention_mask`token_type_ids!(mask;kinds))")
        again = as_tensor(session.run("q`last_hidden_state" if name == "bert" else "q"))
        assert torch.equal(got, again)


SAMPLED = [("", {"do_sample": False}), (";`temperature`topk`topp`seed!(.7;20;.9;5)", {"do_sample": True, "temperature": .7, "top_k": 20, "top_p": .9}),
           (";`temperature`seed!(1.5;5)", {"do_sample": True, "temperature": 1.5, "top_k": 0}),
           (";`cache,0b", {"do_sample": False, "use_cache": False})]


@pytest.mark.parametrize("name", CAUSAL)
def test_tokens(session: Session, tmp_path: Path, name: str) -> None:
    """Fifty tokens, the likeliest and drawn with the same seed; rows of different lengths; an end."""
    ref, x = reference(name, tmp_path), inputs(name)[:, :7]
    opened(session, tmp_path)
    session["x"] = tensor_handle(x)
    usual = {"max_new_tokens": 50, "pad_token_id": 0}
    for options, named in SAMPLED:
        torch.manual_seed(5)
        want = ref.generate(x, **usual, **named)
        assert torch.equal(as_tensor(session.run(f"generate(m;x;50{options})")), want), options
    stop = int(want[0, 20])
    want = ref.generate(x, **usual | {"pad_token_id": stop}, do_sample=False, eos_token_id=stop)
    assert torch.equal(as_tensor(session.run(f"generate(m;x;50;`stop,{stop})")), want)
    mask = torch.ones_like(x)
    mask[0, :3] = 0
    want = ref.generate(x, attention_mask=mask, **usual, do_sample=False)
    session.run("q:tensor x;r:generate(m;(3_q 0;q 1);50)")
    assert as_tensor(session.run("r 0")).tolist() == want[0, 3:].tolist()
    assert as_tensor(session.run("r 1")).tolist() == want[1].tolist()


def test_gradients(session: Session, tmp_path: Path) -> None:
    """A step of training is transformers', by the names of the parameters."""
    for name in ("llama", "mixtral", "gpt2, not tied", "bert, masked words"):
        ref, x = reference(name, tmp_path / name), inputs(name)
        opened(session, tmp_path / name)
        session["x"] = tensor_handle(x)
        first(ref(x)).float().pow(2).mean().backward()
        session.run("training(m;0b);y:kforward(m;x);backward mean y*y")
        own = dict(session.run("m").obj.named_parameters())
        with_experts = dict(ref.named_parameters())
        shared = [n for n in own if n in with_experts]
        assert len(shared) > 10
        for n in shared:
            torch.testing.assert_close(own[n].grad, with_experts[n].grad, rtol=1e-3, atol=1e-5, msg=lambda s, n=n: f"{n}: {s}")


@pytest.mark.parametrize("name", ["llama", "qwen2", "mixtral", "gpt2", "bert", "bert, masked words", "vit"])
def test_saved_weights_open_in_transformers(session: Session, tmp_path: Path, name: str) -> None:
    """The names are those of the files: changed weights, saved, are the model's in transformers."""
    ref, x = reference(name, tmp_path), inputs(name)
    opened(session, tmp_path)
    session.run("{parm(m;x;.5*tensor parm(m;x))}each parmnames m")
    session["x"] = tensor_handle(x)
    session.run(f'r:eforward(m;x);ckpt(`$":{tmp_path}/new.safetensors";m)')
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "new.safetensors").rename(tmp_path / "model.safetensors")
    again = type(ref).from_pretrained(tmp_path).eval()
    with torch.no_grad():
        same(session, again(x), "r" if name != "bert" else "eforward(m;x)")
        assert not torch.allclose(first(again(x)), first(ref(x)))


def test_several_files_and_kinds(session: Session, tmp_path: Path) -> None:
    """Weights in several files, in bfloat16, and names with or without what stands before them."""
    x = inputs("llama")
    ref = reference("llama", tmp_path / "a", max_shard_size="20kB")
    assert len(list((tmp_path / "a").glob("*.safetensors"))) > 2
    opened(session, tmp_path / "a")
    session["x"] = tensor_handle(x)
    with torch.no_grad():
        same(session, ref(x), "eforward(m;x)")
        opened(session, tmp_path / "a", "LlamaModel")
        same(session, ref.model(x), "eforward(m;x)")
        ref.bfloat16().save_pretrained(tmp_path / "b")
        opened(session, tmp_path / "b")
        got = as_tensor(session.run("eforward(m;x)"))
        assert got.dtype == torch.bfloat16
        torch.testing.assert_close(got.float(), ref(x).logits.float(), rtol=.1, atol=.1)
    ref = reference("bert, a class", tmp_path / "c")
    opened(session, tmp_path / "c", "BertModel")
    session["x"] = tensor_handle(x)
    with torch.no_grad():
        same(session, ref.bert(x), "eforward(m;x)")
    ref = reference("gpt2, no head", tmp_path / "d")
    text = (tmp_path / "d" / "config.json").read_text().replace("GPT2Model", "GPT2LMHeadModel")
    (tmp_path / "d" / "config.json").write_text(text)  # as the folders of gpt2 are
    opened(session, tmp_path / "d")
    with torch.no_grad():
        want = ref(x).last_hidden_state @ ref.wte.weight.t()
    torch.testing.assert_close(as_tensor(session.run("eforward(m;x)")), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["qwen2, windows, yarn", "mixtral", "gpt2", "bert, masked words", "vit"])
def test_a_snapshot_in_a_fresh_process(session: Session, tmp_path: Path, name: str) -> None:
    """It needs neither the folder nor transformers."""
    reference(name, tmp_path / "a")
    opened(session, tmp_path / "a")
    session["x"] = tensor_handle(inputs(name))
    session.run(f'y:eforward(m;x);d:module m;snapshot`$":{tmp_path}/a.ks"')
    for file in (tmp_path / "a").iterdir():
        file.unlink()
    code = f'resume`$":{tmp_path}/a.ks";\n(d~module m),((tensor y)~tensor eforward(m;x)),(state m)~state module state m\n'
    done = warm.run([sys.executable, "-m", "kshell", "-q"], input=code, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("111b\n", "")


CODE = """
import sys
from kshell.session import Session
s = Session()
s.run(f'm:hub`$":{sys.argv[1]}"')
s.run("generate(m;1 2 3;5);evaluate(m;2 3#1)")
assert not {"transformers", "safetensors", "huggingface_hub"} & {*sys.modules}
"""


def test_transformers_is_not_imported(tmp_path: Path) -> None:
    reference("llama", tmp_path)
    done = warm.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
