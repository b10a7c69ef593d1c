"""Models, outputs, tokenizers and data of transformers, made in q by import, trained by `run`."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
import torch

from kshell.session import Session

MISSING = [name for name in ("transformers", "tokenizers") if importlib.util.find_spec(name) is None]
pytestmark = [pytest.mark.extra, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]

PYTHON = """
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast
words = ["[PAD]", "[UNK]", "one", "two", "three", "red", "green", "blue", "dark", "light"]
plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "[UNK]"))
plain.pre_tokenizer = pre_tokenizers.Whitespace()
tk = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]")
config = BertConfig(vocab_size=10, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, num_labels=2)
lines = ["one red", "two green blue", "three dark", "one light red", "two", "three blue blue", "one dark green", "light"]
labels = torch.tensor([0, 1, 1, 0, 1, 1, 0, 0])
def batch(rows):
    out = tk([lines[i] for i in rows], padding=True, return_tensors="pt", return_token_type_ids=False)
    out["labels"] = labels[rows]
    return out
def loader(): return DataLoader(range(8), 4, collate_fn=batch)
def by_hand(m):
    o = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], .01, fused=True)
    m.train()
    found = []
    for b in loader():
        o.zero_grad()
        loss = m(**b).loss
        loss.backward()
        o.step()
        found.append(loss.item())
    return found
"""


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session()
    made.run(".p.e" + json.dumps(PYTHON))
    return made


def test_a_padded_batch_and_the_names_of_an_output(session: Session) -> None:
    session.run('tk:.p.get`tk;b:tk[("one red";"two blue green");`padding pykw 1b;`return_tensors pykw "pt"]`')
    session.run('lm:.p.eval["BertModel(config)"]`;h:forward[(lm;b)]`last_hidden_state')
    assert session.run("((size h)~2 3 16)&`last_hidden_state`pooler_output~key forward(lm;b)") is True
    assert session.run("(evaluate[(lm;b)]`pooler_output)~evaluate[(lm;`attention_mask`input_ids!b`attention_mask`input_ids)]`pooler_output") is True


def test_training_with_a_loader_of_dictionaries(session: Session) -> None:
    """The loss that the model's own output carries, through a loader, bit for bit as by hand; accuracy is that of the logits."""
    session.run('.p.e"torch.manual_seed(1);m=BertForSequenceClassification(config);start={k:v.clone() for k,v in m.state_dict().items()}"')
    session.run(".p.e\"torch.manual_seed(2)\";r:.p.qeval\"by_hand(m)\"")
    session.run('.p.e"m.load_state_dict(start);torch.manual_seed(2)"')
    session.run("q:.p.py2q .p.pyget`m;k:model(q;::;opt(`adamw;q;.01));train(k;`metrics;`batchloss`accuracy)")
    assert session.run('train(k;.p.eval"loader()")') == 2
    found = session.run("f:run k;f 0")
    assert np.asarray(found.a).tolist() == session.run("r").a.tolist()
    assert session.run("f[1]in 12.5*til 9") is True
    session.run("do[30;run k];test(k;`metrics;`loss`accuracy);test(k;data k);s:testrun k")
    assert session.run("(s[0]<.2)&s[1]=100") is True


def test_other_losses_with_the_same_loader(session: Session) -> None:
    """A loss of kshell gets the logits; a function gets the output and the labels."""
    session.run('.p.e"torch.manual_seed(1);m=BertForSequenceClassification(config)"')
    session.run("q:.p.py2q .p.pyget`m;p:copyparms q;e:{[l]copyparms(q;p);seed 3;k:model(q;l;opt(`adamw;q;.01));train(k;`metrics;`batchloss);run(k;.p.eval\"loader()\")}")
    assert session.run("(e[::]~e loss`ce)&e[::]~e{[o;y]ce(o`logits;y)}") is True


def test_what_a_model_keeps_between_calls(session: Session) -> None:
    """A cache is an object of Python, which goes back into the next call."""
    session.run('.p.e"from transformers import GPT2Config, GPT2LMHeadModel"')
    session.run('g:.p.eval["GPT2LMHeadModel(GPT2Config(vocab_size=10, n_embd=8, n_layer=2, n_head=2))"]`')
    session.run("a:eforward(g;`input_ids`use_cache!(enlist 1 2 3;1b));n:last key a;b:eforward(g;(`input_ids,n)!(enlist enlist 4;a n))")
    assert session.run("112h=type a n") is True
    whole = session.run("eforward[(g;(enlist`input_ids)!enlist enlist 1 2 3 4)]`logits").obj
    assert torch.allclose(whole[:, -1:], session.run("b`logits").obj, atol=1e-6)


LORA = """
from kshell.nn.blocks.adapters import Lora
def adapted(m, w):
    for p in m.parameters(): p.requires_grad_(False)
    for layer, ab in zip(m.bert.encoder.layer, w):
        for name, (a, b) in zip(("query", "value"), ab):
            made = Lora(16, 16, 4, base=getattr(layer.attention.self, name))
            made.lora_A.weight.data.copy_(a)
            made.lora_B.weight.data.copy_(b)
            setattr(layer.attention.self, name, made)
    return m
"""
ADAPTED = """
q:.p.py2q .p.pyget`m; freeze q
n:`$"bert.encoder.layer.",/:raze("0";"1"),/:\\:".attention.self.",/:("query";"value")
w:{(parm(q;`$string[x],".weight");parm(q;`$string[x],".bias"))}each n
{child(q;x;(`lora;16;16;4))}each n;
{parm(q;`$string[x],".base_layer.weight";y 0);parm(q;`$string[x],".base_layer.bias";y 1)}'[n;w];
small:exec name from parmtable q where name like"*lora_*"
"""


def test_a_model_of_transformers_fine_tuned_with_lora(session: Session) -> None:
    """A tokenizer, a model and a loader of Python, low-rank layers of kshell: only these learn, and to the bits of a loop by
    hand over the same."""
    session.run('.p.e"torch.manual_seed(1);m=BertForSequenceClassification(config);start={k:v.clone() for k,v in m.state_dict().items()}"')
    session.run(".p.e" + json.dumps(LORA))
    for line in ADAPTED.strip().splitlines():
        session.run(line)
    assert session.run("count small") == 8
    session.run('.p.e"before={k:v.detach().clone() for k,v in m.named_parameters()}"')
    session.run(".p.set[`w;{(parm(q;`$string[x],\".lora_A.weight\");parm(q;`$string[x],\".lora_B.weight\"))}each n]")
    session.run('.p.e"w=[[(a.detach().clone(),b.detach().clone()) for a,b in w[i:i+2]] for i in (0,2)]"')
    session.run("o:opt(`adamw;q;.01);k:model(q;::;o);train(k;`metrics;`batchloss);train(k;.p.eval\"loader()\")")
    session.run('.p.e"torch.manual_seed(2)";f:run k')
    changed = session.run('`$.p.qeval"[k for k,v in m.named_parameters() if not torch.equal(v,before[k])]"').a
    assert changed.tolist() == session.run("small").a.tolist()
    session.run('.p.e"h=BertForSequenceClassification(config);h.load_state_dict(start);h=adapted(h,w);torch.manual_seed(2)"')
    assert np.asarray(session.run("f").a).tolist() == session.run('.p.qeval"by_hand(h)"').a.tolist()
