"""Decoders with rotary positions and gated layers: Llama, Qwen2, Mistral, Mixtral."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.kapi.hub.family import Node, Plan, Settings, family, node, rotary

_IGNORED = (r".*rotary_emb\.inv_freq",)


def _attention(c: Settings, bias: bool, outbias: bool, window: int | None = None) -> Node:
    heads = c.size("num_attention_heads")
    dim = c.size("hidden_size")
    headdim = c.size("head_dim", dim // heads)
    return node(
        "gqa",
        "self_attn",
        dim=dim,
        heads=heads,
        kvheads=c.size("num_key_value_heads", heads),
        headdim=None if headdim * heads == dim else headdim,
        rope=rotary(c, headdim),
        window=window,
        bias=bias,
        outbias=outbias,
        dropout=c.number("attention_dropout", 0.0),
        names=("q_proj", "k_proj", "v_proj", "o_proj"),
    )


def _gated(c: Settings) -> Node:
    return node(
        "swiglu",
        "mlp",
        dim=c.size("hidden_size"),
        hidden=c.size("intermediate_size"),
        fn=c.function("hidden_act", "silu"),
        bias=c.flag("mlp_bias"),
        names=("gate_proj", "up_proj", "down_proj"),
    )


def _norm(c: Settings, name: str) -> Node:
    return node("rmsnorm", name, shape=c.size("hidden_size"), eps=c.number("rms_norm_eps", 1e-6))


def _llama(c: Settings, i: int) -> tuple[Node, Node]:
    bias = c.flag("attention_bias")
    return _attention(c, bias, bias), _gated(c)


def _qwen2(c: Settings, i: int) -> tuple[Node, Node]:
    kinds = c.get("layer_types")
    window = c.get("sliding_window") if c.flag("use_sliding_window") else None
    if window is not None:
        first = c.get("max_window_layers", 28)
        slides = (
            kinds[i] == "sliding_attention"
            if isinstance(kinds, list) and len(kinds) > i
            else i >= first
        )
        window = c.size("sliding_window") if slides else None
    return _attention(c, True, False, window), _gated(c)


def _mistral(c: Settings, i: int) -> tuple[Node, Node]:
    window = None if c.get("sliding_window") is None else c.size("sliding_window")
    return _attention(c, False, False, window), _gated(c)


def _mixtral(c: Settings, i: int) -> tuple[Node, Node]:
    experts = node(
        "moe",
        "block_sparse_moe",
        dim=c.size("hidden_size"),
        hidden=c.size("intermediate_size"),
        experts=c.size("num_local_experts", 8),
        top=c.size("num_experts_per_tok", 2),
        fn=c.function("hidden_act", "silu"),
        names=("w1", "w3", "w2"),
    )
    return _mistral(c, i)[0], experts


_Layer = Callable[[Settings, int], tuple[Node, Node]]


def _model(c: Settings, layer: _Layer, name: str) -> Node:
    """The model without a head."""
    blocks = []
    for i in c.layers("num_hidden_layers"):
        attention, feed = layer(c, i)
        parts = _norm(c, "input_layernorm"), attention, _norm(c, "post_attention_layernorm"), feed
        blocks.append(node("block", str(i), *parts))
    embed = node("embed", "embed_tokens", rows=c.size("vocab_size"), cols=c.size("hidden_size"))
    return node("seqmask", name, embed, node("seqnest", "layers", *blocks), _norm(c, "norm"))


def _architectures(layer: _Layer) -> dict[str, Any]:
    def causal(c: Settings) -> Plan:
        sizes = {"in": c.size("hidden_size"), "out": c.size("vocab_size")}
        root = node(
            "seqmask", "", _model(c, layer, "model"), node("linear", "lm_head", bias=False, **sizes)
        )
        tied = (
            {"lm_head.weight": "model.embed_tokens.weight"} if c.flag("tie_word_embeddings") else {}
        )
        return Plan(root, tied, _IGNORED)

    def model(c: Settings) -> Plan:
        return Plan(_model(c, layer, ""), {}, _IGNORED)

    return {"ForCausalLM": causal, "Model": model}


family("llama", "model", "Llama 1 to 3.2 and those built alike", **_architectures(_llama))
family(
    "qwen2",
    "model",
    "Qwen2 and Qwen2.5: biases of queries, keys and values",
    **_architectures(_qwen2),
)
family("mistral", "model", "Mistral: a sliding window", **_architectures(_mistral))
family("mixtral", "model", "Mixtral: a mixture of experts", **_architectures(_mixtral))
