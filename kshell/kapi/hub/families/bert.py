"""BERT: attention in both directions, normalization after each part, a pooled first place."""

from __future__ import annotations

from typing import Any

from kshell.kapi.hub.family import Node, Plan, Settings, activation, dropouts, family, node

_IGNORED = (r".*position_ids", r"cls\.seq_relationship\..*")
# as older files and other programs name them
_RENAMED = {r"LayerNorm\.gamma$": "LayerNorm.weight", r"LayerNorm\.beta$": "LayerNorm.bias"}
_BIAS = {r"^cls\.predictions\.bias$": "cls.predictions.decoder.bias"}
_TIED = "cls.predictions.decoder."


def _sizes(before: int, after: int) -> dict[str, Any]:
    return {"in": before, "out": after}


def _layer(c: Settings, i: int) -> Node:
    dim, hidden = c.size("hidden_size"), c.size("intermediate_size")
    added = {
        "eps": c.number("layer_norm_eps", 1e-12),
        "dropout": c.number("hidden_dropout_prob", 0.1),
    }
    attention = node(
        "gqa",
        "self",
        dim=dim,
        heads=c.size("num_attention_heads"),
        causal=False,
        bias=True,
        dropout=c.number("attention_probs_dropout_prob", 0.1),
        project=False,
        names=("query", "key", "value"),
    )
    return node(
        "skip",
        str(i),
        node(
            "skip", "attention", attention, node("addnorm", "output", **_sizes(dim, dim), **added)
        ),
        node(
            "seqnest",
            "intermediate",
            node("linear", "dense", **_sizes(dim, hidden)),
            activation(c.function("hidden_act", "gelu")),
        ),
        node("addnorm", "output", **_sizes(hidden, dim), **added),
    )


def _parts(c: Settings) -> tuple[Node, Node]:
    """Embeddings and layers."""
    c.refuse(is_decoder=False, add_cross_attention=False, position_embedding_type="absolute")
    embeddings = node(
        "embedtypes",
        "embeddings",
        rows=c.size("vocab_size"),
        cols=c.size("hidden_size"),
        length=c.size("max_position_embeddings", 512),
        types=c.size("type_vocab_size", 2),
        eps=c.number("layer_norm_eps", 1e-12),
        dropout=c.number("hidden_dropout_prob", 0.1),
        padindex=c.get("pad_token_id"),
    )
    layers = node("seqnest", "layer", *(_layer(c, i) for i in c.layers("num_hidden_layers")))
    return embeddings, node("seqnest", "encoder", layers)


def _pooler(c: Settings, both: bool) -> Node:
    return node("pooler", "pooler", dim=c.size("hidden_size"), both=both)


def _bare(c: Settings) -> Plan:
    return Plan(node("seqmask", "", *_parts(c), _pooler(c, True)), {}, _IGNORED, _RENAMED)


def _masked(c: Settings) -> Plan:
    dim, rows = c.size("hidden_size"), c.size("vocab_size")
    transform = node(
        "seqnest",
        "transform",
        node("linear", "dense", **_sizes(dim, dim)),
        activation(c.function("hidden_act", "gelu")),
        node("layernorm", "LayerNorm", shape=dim, eps=c.number("layer_norm_eps", 1e-12)),
    )
    head = node("seqnest", "predictions", transform, node("linear", "decoder", **_sizes(dim, rows)))
    root = node("seqmask", "", node("seqmask", "bert", *_parts(c)), node("seqnest", "cls", head))
    is_tied = c.flag("tie_word_embeddings", True)
    tied = {f"{_TIED}weight": "bert.embeddings.word_embeddings.weight"} if is_tied else {}
    return Plan(root, tied, (*_IGNORED, r"bert\.pooler\..*"), _RENAMED | _BIAS)


def labels(c: Settings) -> int:
    """The number of labels."""
    names = c.get("id2label")
    return len(names) if isinstance(names, dict) and names else c.size("num_labels", 2)


def _classifier(c: Settings, *pooled: Node) -> Plan:
    p = c.number("classifier_dropout", c.number("hidden_dropout_prob", 0.1))
    last = node("linear", "classifier", **_sizes(c.size("hidden_size"), labels(c)))
    bert = node("seqmask", "bert", *_parts(c), *pooled)
    return Plan(node("seqmask", "", bert, *dropouts(p, "dropout"), last), {}, _IGNORED, _RENAMED)


family(
    "bert",
    "bert",
    "BERT and those built alike",
    Model=_bare,
    ForMaskedLM=_masked,
    ForPreTraining=_masked,
    ForSequenceClassification=lambda c: _classifier(c, _pooler(c, False)),
    ForTokenClassification=_classifier,
)
