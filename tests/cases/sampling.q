/ bernoulli, multinomial
bernoulli 0 1 1 0f  / 0 1 1 0f
seed 0;bernoulli 5 3#.1 .5 .99e  / 0 0 1\n0 1 1\n0 0 1\n0 1 1\n1 1 1
tensor bernoulli tensor 0 1f  / 0 1f
r:tensor 0#0b;bernoulli(0 1 1f;r);tensor r  / 011b
r:tensor 3#9;bernoulli(0 1 1f;r);tensor r  / 0 1 1
t:tensor 0 1f;bernoulli(t;[]);tensor t  / 0 1f
bernoulli(0 1f;[])  / 0 1f
bernoulli 0 2f  / 'bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false (given double list of 2)
bernoulli 0 1  / 'bernoulli: "bernoulli_tensor_cpu_p_" not implemented for 'Long'
bernoulli(.5;1b)  / 'bernoulli: unexpected boolean scalar
multinomial 0 1 0f  / 1
multinomial(0 1 0f;3;1b)  / 1 1 1
multinomial(2 2#1 0 0 1f)  / 0 1
multinomial(2 2#1 0 0 1f;2;1b)  / 0 0\n1 1
multinomial(0 1 0f;1b)  / 1
tensor multinomial(tensor 0 1 0f;1)  / ,1
r:tensor 0#0;multinomial(0 1 0f;2;1b;r);tensor r  / 1 1
multinomial(0 1 0f;`n`replace!(2;1b))  / 1 1
multinomial(0 0f)  / 'multinomial: invalid multinomial distribution (sum of probabilities <= 0) (given double list of 2)
multinomial(-1 2f)  / 'multinomial: probability tensor contains either `inf`, `nan` or element < 0 (given double list of 2)
multinomial(1 2f;`a)  / 'multinomial: unexpected symbol scalar, expecting n (long scalar), replace (boolean)
multinomial(1 2)  / 'multinomial: multinomial only supports floating-point dtypes for input, got: Long
seed 123;multinomial(.2 .6 .4;10;1b)  / 1 0 1 0 1 1 1 1 2 0
multinomial(1 2f;0)  / 'multinomial: cannot sample n_sample <= 0 samples
