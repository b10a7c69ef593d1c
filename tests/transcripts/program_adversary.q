/ Two networks against each other, in the functions of the library: one makes points of two kinds, one tells them from
/ those of the data. Inputs are pairs of a tensor and a kind; nothing is left behind by a turn.
q){key[x]set'x;}(`ktorch 2:`fns,1)[]
q)seed 4
q)maker:module((0;`sequential);(1;`seqjoin);(2;`sequential);(2;`sequential);(3;(`embed;2;4));(2;(`cat;1));(1;(`linear;7;8));(1;`relu);(1;(`linear;8;2)))
q)judge:module((0;`sequential);(1;`seqjoin);(2;`sequential);(2;`sequential);(3;(`embed;2;4));(2;(`cat;1));(1;(`linear;6;8));(1;`relu);(1;(`linear;8;1));(1;`sigmoid);(1;(`flatten;0)))
q)-2 str judge;
torch::nn::Sequential(
  (0): SeqJoin(
    (qx): torch::nn::Sequential
    (qy): torch::nn::Sequential(
      (0): torch::nn::Embedding(num_embeddings=2, embedding_dim=4)
    )
    (join): knn::Cat(dim=1)
  )
  (1): torch::nn::Linear(in_features=6, out_features=8, bias=true)
  (2): torch::nn::ReLU()
  (3): torch::nn::Linear(in_features=8, out_features=1, bias=true)
  (4): torch::nn::Sigmoid()
  (5): torch::nn::Flatten(start_dim=0, end_dim=-1)
)
q)adversary:{model(x;loss`bce;opt(`adam;x;.02;.5))}
q)g:adversary maker; d:adversary judge
q)v:vector(60 2#"e"$til 120;60#0 1); amend(v 0;(tensor[v 0]%240)+3*flip 2#enlist 60#0 1e)
q)t:(tensor(;20)@)'[`empty`zeros`ones]
q)z:tensor(`empty;20 3)
q)judged:{[d;t;v]nograd d; uniform(t;.8;1); backward(d;v;t)}
q)found:{[d;t;x;k]x:detach x; l:backward(d;(x;k);t); free x; step d; l}
q)made:{[d;g;t;x;k]nograd g; l:backward(d;(x;k);t); free x; step g; l}
q)turn:{[d;g;t;v;z;i]batch(v;20;i); a:judged[d;t 0;v]; normal z; k:tensor(`randint;2;20;`long); x:forward(g;z;k); b:found[d;t 1;x;k]; (a+b),made[d;g;t 2;x;k]}
q)n:count obj[]
q)do[80;r:avg turn[d;g;t;v;z]each til 3;shuffle v]
q)n=count obj[]
1b
q)restore v
60
q)size each(v 0;v 1)
60 2
,60
q)m:{avg evaluate(g;tensor(`randn;500 3);500#x)}each 0 1
q)all 1>abs .25-m 0
1b
q)all 1>abs 3.25-m 1
1b
