/ Words of a text: tokens, stems by a table of rules, counts, an index with ranked search, and a compressed form.
q)doc:("The cats were running and the dogs ran.";"A dog runs; cats sleep, sleeping soundly!";"Studies of running studied the study of studies.")
q)doc,:enlist"Sleepy dogs don't study: they sleep."
q)\d .txt
q)stop:`the`a`of`and`were`they
q)clean:{@[x;where not x in .Q.an,"'";:;" "]}
q)tokens:{`$" "vs trim{ssr[x;"  ";" "]}/[clean lower x]}
q)rules:([]suffix:("ies";"ied";"ying";"nning";"ing";"s";"y");put:("i";"i";"i";"n";"";"";"i");min:1 1 1 1 3 3 2)
q)fits:{[w;r](w like"*",r`suffix)&r[`min]<=count[w]-count r`suffix}
q)stem1:{[w]i:where fits[w]each rules;$[count i;((neg count r`suffix)_w),(r:rules first i)`put;w]}
q)stem:{`$stem1 string x}
q)words:{w:tokens[x]except stop;stem each w where not null w}
q)index:{[d]w:words each d;`word xgroup ungroup([]word:w;doc:til count d)}
q)idf:{[d]n:count d;log n%count each group raze distinct each words each d}
q)search:{[d;q]q:words q;w:idf d;v:(count each'group each words each d)@\:q;k where 0<s k:idesc s:sum each(0^v)*\:0f^w q}
q)bigrams:{[w]count each group 1_flip(prev w;w)}
q)\d .
q).txt.tokens doc 0
`the`cats`were`running`and`the`dogs`ran
q).txt.words each doc
`cat`run`dog`ran
`dog`run`cat`sleep`sleep`soundli
`studi`run`studi`studi`studi
`sleepi`dog`don't`studi`sleep
q).txt.stem each`cats`running`studies`studied`studying`sleepy`is`sing`sings
`cat`run`studi`studi`studi`sleepi`is`sing`sing
q)exec word!count each doc from .txt.index doc
cat    | 2
dog    | 3
don't  | 1
ran    | 1
run    | 3
sleep  | 3
sleepi | 1
soundli| 1
studi  | 5
q)select from .txt.index[doc]where 1<count each distinct each doc
word | doc
-----| ---------
cat  | 0 1
dog  | 0 1 3
run  | 0 1 2
sleep| 1 1 3
studi| 2 2 2 2 3
q)first exec doc from .txt.index[doc]where word=`studi
2 2 2 2 3
q).txt.search[doc;"sleeping dogs"]
1 3 0
q).txt.search[doc;"Study"]
2 3
q).txt.search[doc;"unknown"]
`long$()
q).01*"j"$100*.txt.idf doc
cat    | 0.69
run    | 0.29
dog    | 0.29
ran    | 1.39
sleep  | 0.69
soundli| 1.39
studi  | 0.69
sleepi | 1.39
don't  | 1.39
q)c:desc count each group raze .txt.words each doc
q)3#c
studi| 5
run  | 3
dog  | 3
q)sum c
20
q)5 sublist .txt.bigrams raze .txt.words each doc
cat run| 1
run dog| 1
dog ran| 1
ran dog| 1
dog run| 1
q)w:raze .txt.tokens each doc
q)(count w;count distinct w)
29 20
q)avg count each string w
4.551724
q)freq:([]word:key c;n:value c)
q)update share:n%sum n,cum:sums n from 4#freq
word  n share     cum
---------------------
studi 5 0.3571429 5
run   3 0.2142857 8
dog   3 0.2142857 11
sleep 3 0.2142857 14
q)select words:word by n from freq where n>1
n| words
-| --------------
2| ,`cat
3| `run`dog`sleep
5| ,`studi
q)exec max n by first each string word from freq
c| 2
d| 3
r| 3
s| 5
q).j.j 2#freq
"[{\"word\":\"studi\",\"n\":5},{\"word\":\"run\",\"n\":3}]"
q)(2#freq)~update`$word,"j"$n from .j.k .j.j 2#freq
1b
/ Huffman codes of the letters: the two lightest nodes are joined until one is left
q)t:lower raze doc
q)h:count each group t
q)join2:{[q]q:q iasc q[;0];(2_q),enlist(sum q[0 1;0];q[0 1;1])}
q)tree:last first{1<count x}join2/flip(value h;key h)
q)codes:{[p;n]$[-10h=type n;enlist[n]!enlist p;raze .z.s'[p,/:01b;n]]}[0#0b;tree]
q)bits:raze codes t
q)count[bits]<8*count t
1b
q)decode:{[tree;b]raze{[tree;s;b]n:s[0]b;$[-10h=type n;(tree;s[1],n);(n;s 1)]}[tree]/[(tree;"");b]1}
q)t~decode[tree;bits]
1b
q)(sum h*count each codes key h)=count bits
1b
q)all{not any(1_x){y~count[y]#x}\:first x}each{x rotate value codes}each til count codes
1b
/ runs of the same letter
q)rle:{(x w;1_deltas(w:where differ x),count x)}
q)rle"aaabccd"
a b c d
3 1 2 1
q){x~raze(#)'[y 1;y 0]}["aaabccd"]rle"aaabccd"
1b
/ distance between words
q)lev:{[s;t]last{[s;r;c]n:1+first r;(n,{[p;l](1+p)&l}\[n;(1+1_r)&(-1_r)+c<>s])}[s]/[til 1+count s;t]}
q)lev["kitten";"sitting"]
3
q)near:{[w;d]d iasc lev[string w]each string d}
q)3#near[`studing]distinct w
`studies`studied`study
q)-1 {(10$string x),(y#"*")}'[key 4#c;value 4#c];
studi     *****
run       ***
dog       ***
sleep     ***
