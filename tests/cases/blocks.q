/ positions
tensor forward(module enlist(`rope;1f);2 2#1 0 1 0e)  / 1         0\n0.5403023 0.841471
size forward(module`rope;tensor(`randn;2 3 4 6))  / 2 3 4 6
evaluate(module`rope;2 3#1e)  / 'evaluate: rope: turns 3 columns, the input has 3, of an even number (given module, real 2x3)
m:module enlist(`positions;3;2);parm(m;`weight;tensor 3 2#til[6]%1e)  /
evaluate(m;1 2 2#0e)  / 0 1 2 3
evaluate(module enlist(`alibi;1);1 3 3#0e)  / 0           -0.00390625 -0.0078125  -0.00390625 0           -0.00390625 -0.00..
module`alibi  / 'alibi: positive number of heads required
/ attention
options module enlist(`gqa;8;2;1;`rope;3)  / dim    | 8\nheads  | 2\nkvheads| 1\nrope   | `base`dim`adjacent`scaling`factor`length`low`high`attention`short`lo..\nwindow | 3\nheaddim| 4\ncausal | 1b\nbias   | 0b\noutbias| 0b\ndropout| 0f\nalibi  | 0b\nscale  | 0n\nfused  | 0b\nproject| 1b\nlayer  | `linear\nnames  | `q`k`v`out
childnames module enlist(`gqa;8;2;`fused,1b)  / `qkv`out
childnames module enlist(`gqa;8;2;1;`rope`project!(`rope;0b))  / `q`k`v`rope
size each parms module enlist(`gqa;8;4;2;`bias`outbias!11b)  / q.weight  | 8 8\nq.bias    | ,8\nk.weight  | 4 8\nk.bias    | ,4\nv.weight  | 4 8\nv.bias    | ,4\nout.weight| 8 8\nout.bias  | ,8
module enlist(`gqa;8;3)  / 'gqa: size 8 is not divisible by 3 heads
module enlist(`gqa;8;4;3)  / 'gqa: 4 heads are not divisible by 3 heads of keys
/ layers, adapters
childnames module enlist(`swiglu;4;6)  / `gate`up`down
childnames module enlist(`swiglu;4;6;(enlist`names)!enlist`w1`w3`w2)  / `w1`w3`w2
module enlist(`moe;4;6;2;3)  / 'moe: 3 of 2 experts cannot be chosen
l:module enlist(`lora;2;2;1;1f;`bias,0b);parm(l;`base_layer.weight;tensor 2 2#1 0 0 1e)  /
evaluate(l;1 2#3 4e)  / 3 4
parm(l;`lora_A.weight;tensor 1 2#1 1e);parm(l;`lora_B.weight;tensor 2 1#1 0e)  /
evaluate(l;1 2#3 4e)  / 10 4
gradflag l  / base_layer.weight| 0\nlora_A.weight    | 1\nlora_B.weight    | 1
/ generate
t:module seq(`seqmask;(`embed;4;4);(`linear;4;4;0b))  /
parm(t;`0.weight;tensor 4 4#1 0 0 0 0e);parm(t;`1.weight;tensor 4 4#0 0 0 1 1 0 0 0 0 1 0 0 0 0 1 0e)  /
generate(t;0 1;5)  / 0 1 2 3 0 1 2
generate(t;3)  / 'generate: expecting longs, lists of longs or a tensor of them, given long scalar
generate(t;enlist 3;3)  / 3 0 1 2
generate(t;(0 1;2 3);2)  / 0 1 2 3\n2 3 0 1
generate(t;(0 1;enlist 2);5;`stop,0)  / 0 1 2 3 0\n2 3 0
tensor generate(t;tensor(0 1;1 2);5;`stop,0)  / 0 1 2 3 0\n1 2 3 0 0
class generate(t;tensor 0 1;5)  / `tensor
generate(t;0 1;5;`cache,0b)  / 0 1 2 3 0 1 2
count generate(t;0 1)  / 22
(generate(t;0 1;9;`temperature`seed!(1.5;3)))~generate(t;0 1;9;`temperature`seed!(1.5;3))  / 1b
generate(t;0 1;5;`temperature`topk`seed!(2.;1;3))  / 0 1 2 3 0 1 2
generate(t;0 1;5;`cache,1b)  / 'generate: the module has no attention with a cache, or a part that cannot be given a sequence in pieces
generate(t;0 1;5;-1f)  / 'generate temperature: -1 is below 0
generate(t;0 1;`topn,3)  / 'generate option: topn not recognized
generate(t;0 9)  / 'generate: embed: index 9 is out of bounds for 4 rows (in `0) (given module, long list of 2)
generate(t;())  / 'generate: expecting longs, lists of longs or a tensor of them, given general list
generate(3;0 1)  / 'generate: expecting a module, tokens and options, given long scalar
generate(module`relu;0 1)  / 'generate: the module gives 1x2 for tokens of 1x2, expecting scores of each token at each place
generate[]  / 'generate: expecting a module, tokens and options, given null/unary primitive
generate t  / 'generate: expecting a module, tokens and options, given module
generate(t;0 1e)  / 'generate: expecting longs, lists of longs or a tensor of them, given real list
/ hub
hub`:nosuch  / 'hub: nosuch is not a folder
hub 3  / 'hub: expecting a folder or settings, and optionally an architecture, given long scalar
hub(`:nosuch;3)  / 'hub architecture: expecting a symbol, given long scalar
c:`model_type`vocab_size`hidden_size`intermediate_size`num_hidden_layers`num_attention_heads!(`llama;50;8;12;1;2)  /
size forward(hub c;2 3#til 6)  / 2 3 50
size forward(hub(c;`LlamaModel);2 3#til 6)  / 2 3 8
size forward(hub .j.k .j.j c;2 3#til 6)  / 2 3 50
count generate(hub c;1 2 3;4)  / 7
hub c,(enlist`hidden_size)!enlist 8.5  / 'hub: hidden_size of the dictionary is 8.5, expecting a positive whole number
hub`hidden_size _ c  / 'hub: the dictionary has no hidden_size
hub(c;`LlamaForSight)  / 'hub: the architecture LlamaForSight is not known, those of llama are LlamaForCausalLM LlamaModel
hub c,(enlist`model_type)!enlist`nosuch  / 'hub: the dictionary has the model_type nosuch, known are bert llama qwen2 mistral mixtral gpt2 vit
hub()!()  / 'hub: the dictionary has no model_type, known are bert llama qwen2 mistral mixtral gpt2 vit
/ adapters of many layers
m:module seq(`sequential;(`linear;`one;3;4);`relu;(`linear;`two;4;2));a:evaluate(m;2 3#1e)  /
exec name,r,elements from adapt(m;"*";`rank`alpha!(2;4))  / name    | one two\nr       | 2   2\nelements| 14  12
a~evaluate(m;2 3#1e)  / 1b
adapt(m;"*")  / 'adapt: no linear layer without an adapter has a name like * (given module, char scalar; expected adapt(m;patterns))
count adapter[m]`tensors  / 4
adapter[m][`config]`r`lora_alpha`use_dora  / 2\n4\n0b
unadapt m  / `one`two
a~evaluate(m;2 3#1e)  / 1b
all value gradflag m  / 1b
adapt(m;`two;`rank`dora!(1;1b))  / name type layer  in out r elements\n----------------------------------\ntwo  dora linear 4  2   1 8
adapter[m][`config]`use_dora`target_modules  / 1b\n,`two
unadapt(m;0b)  / ,`two
names m  / `one`1`two
exec name from adapt(m;("on*";"t?o");4;8f;.1;1b)  / `one`two
adapter[m][`config]`use_rslora`lora_dropout  / 1b\n0.1
unadapt(m;0b);seed 3;adapt(m;"*";`seed,9);b:tensor parm(m;`two.lora_A.weight);unadapt(m;0b);adapt(m;"*";`seed,9);b~tensor parm(m;`two.lora_A.weight)  / 1b
unadapt(m;3)  / 'unadapt: expecting a module, and optionally a boolean, given general list
unadapt m;unadapt m  / 'unadapt: the module has no low-rank adapters: adapt(m;patterns) makes them
adapter m  / 'adapter: the module has no low-rank adapters: adapt(m;patterns) makes them
adapter(m;1;2)  / 'adapter: expecting a module, and optionally a folder, given general list
adapter 3  / 'adapter: expecting pytorch object, not implemented for long scalar
adapt m  / 'adapt: expecting a module, patterns of names and options, given module
adapt(3;"*")  / 'adapt: expecting pytorch object, not implemented for long scalar
adapt(m;3)  / 'adapt patterns: expected names or patterns of like, given long scalar
adapt(m;"*";0)  / 'adapt rank: 0 is below 1
adapt(m;"*";`ranks,4)  / 'adapt option: ranks not recognized
adapt(m;"three")  / 'adapt: no linear layer without an adapter has a name like three (expected adapt(m;patterns))
adapt(module`relu;"*")  / 'adapt: no linear layer without an adapter has a name like * (given module, char scalar; expected adapt(m;patterns))
unadapt module`relu  / 'unadapt: the module has no low-rank adapters: adapt(m;patterns) makes them
unadapt[]  / 'unadapt: expecting a module, and optionally a boolean, given null/unary primitive
adapt(m;"one";2);unfreeze(m;`two);last key adapter[m]`tensors  / `base_model.model.two.bias
adapter[m][`config]`modules_to_save`bias  / ,`two\n`none
adapt(m;"two";4);adapter[m][`config]`r`rank_pattern  / 4\n(,`one)!,2
adapter(m;"abc")  / 'adapter to: expected a folder, given char list
unadapt module enlist(`lora;2;2)  / 'unadapt: the module is an adapter itself, and not around one
