/ spectral
fft(1 2 3 4f)  / 10 -2 -2 -2\n0  2  0  -2
tensor fft(tensor 1 2 3 4f)  / 10 -2 -2 -2\n0  2  0  -2
r:tensor(0#0f;`cdouble);fft(1 2 3 4f;r);tensor r  / 10 -2 -2 -2\n0  2  0  -2
fft(1 2 3 4f;1b)  / 'fft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
fft `a  / 'fft: no torch type found for k: symbol scalar
first fft(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3;0;`forward)  / -0.6666667 1.333333  3.5   0\n0.8333333  -1.666667 -0.25 2\n0.8333333  -1.666667 -0.25 2
first fft(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`size`dim`norm!(3;0;`forward))  / -0.6666667 1.333333  3.5   0\n0.8333333  -1.666667 -0.25 2\n0.8333333  -1.666667 -0.25 2
x:tensor(`complex;4 0 0 0f;0 0 0 0f);tensor ifft(x)  / 1 1 1 1\n0 0 0 0
x:tensor(`complex;4 0 0 0f;0 0 0 0f);r:tensor(0#0f;`cdouble);ifft(x;r);tensor r  / 1 1 1 1\n0 0 0 0
ifft `a  / 'ifft: no torch type found for k: symbol scalar
ifft(1 2 3f;1b)  / 'ifft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
x:tensor(`complex;4 0 0 0f;0 0 0 0f);tensor ifft(x;5;-1;`ortho)  / 1.788854 1.788854 1.788854 1.788854 1.788854\n0        0        0        0        0
x:tensor(`complex;4 0 0 0f;0 0 0 0f);tensor ifft(x;`size`dim`norm!(5;-1;`ortho))  / 1.788854 1.788854 1.788854 1.788854 1.788854\n0        0        0        0        0
rfft(1 2 3 4f)  / 10 -2 -2\n0  2  0
tensor rfft(tensor 1 2 3 4f)  / 10 -2 -2\n0  2  0
r:tensor(0#0f;`cdouble);rfft(1 2 3 4f;r);tensor r  / 10 -2 -2\n0  2  0
rfft(1 2 3 4f;1b)  / 'rfft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
rfft `a  / 'rfft: no torch type found for k: symbol scalar
x:tensor(`complex;6 -2 -2f;0 2 0f);tensor irfft(x)  / 0 1 2 3f
x:tensor(`complex;6 -2 -2f;0 2 0f);r:tensor 0#0f;irfft(x;r);tensor r  / 0 1 2 3f
irfft `a  / 'irfft: no torch type found for k: symbol scalar
irfft(1 2 3f;1b)  / 'irfft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
x:tensor(`complex;6 -2 -2f;0 2 0f);tensor irfft(x;`size`norm!(5;`forward))  / -2 4.195774 5.648859 10.35114 11.80423
x:tensor(`complex;6 -2 -2f;0 2 0f);tensor hfft(x)  / 0 12 8 4f
x:tensor(`complex;6 -2 -2f;0 2 0f);r:tensor 0#0f;hfft(x;r);tensor r  / 0 12 8 4f
hfft `a  / 'hfft: no torch type found for k: symbol scalar
hfft(1 2 3f;1b)  / 'hfft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
x:tensor(`complex;6 -2 -2f;0 2 0f);tensor hfft(x;7)  / -2 7.52345 14.39367 8.845451 5.374381 6.594248 1.268799
x:tensor(`complex;6 -2 -2f;0 2 0f);tensor hfft(x;(`size;7))  / -2 7.52345 14.39367 8.845451 5.374381 6.594248 1.268799
ihfft(4 4 4 4 4f;1b)  / 'ihfft: unexpected boolean scalar, expecting size (long scalar), dim (long scalar), norm (symbol)
ihfft `a  / 'ihfft: no torch type found for k: symbol scalar
first ihfft(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4;0)  / -0.5  1    2.625 0\n-0.25 -0.5 -1    1.75\n2     -2   2.375 0.5
first ihfft(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`size`dim!(4;0))  / -0.5  1    2.625 0\n-0.25 -0.5 -1    1.75\n2     -2   2.375 0.5
fft2(2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
tensor fft2(tensor 2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
r:tensor(0#0f;`cdouble);fft2(2 2#1 2 3 4f;r);tensor r  / 10 -2 -4 0\n0 0   0 0
fft2(2 2#1 2 3 4f;1b)  / 'fft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
fft2 `a  / 'fft2: no torch type found for k: symbol scalar
ifft2(2 2#1 2 3 4f)  / 2.5 -0.5 -1  0\n0 0      0 0
tensor ifft2(tensor 2 2#1 2 3 4f)  / 2.5 -0.5 -1  0\n0 0      0 0
r:tensor(0#0f;`cdouble);ifft2(2 2#1 2 3 4f;r);tensor r  / 2.5 -0.5 -1  0\n0 0      0 0
ifft2(2 2#1 2 3 4f;1b)  / 'ifft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
ifft2 `a  / 'ifft2: no torch type found for k: symbol scalar
rfft2(2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
tensor rfft2(tensor 2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
r:tensor(0#0f;`cdouble);rfft2(2 2#1 2 3 4f;r);tensor r  / 10 -2 -4 0\n0 0   0 0
rfft2(2 2#1 2 3 4f;1b)  / 'rfft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
rfft2 `a  / 'rfft2: no torch type found for k: symbol scalar
rfft2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(2;3))  / 3.5 -7.75    0.5 8.75\n0 -0.4330127 0 9.093267
rfft2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`size;(2;3)))  / 3.5 -7.75    0.5 8.75\n0 -0.4330127 0 9.093267
irfft2(2 3#4 0 0 0 0 0f)  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
tensor irfft2(tensor 2 3#4 0 0 0 0 0f)  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
r:tensor 0#0f;irfft2(2 3#4 0 0 0 0 0f;r);tensor r  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
irfft2(2 3#4 0 0 0 0 0f;1b)  / 'irfft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
irfft2 `a  / 'irfft2: no torch type found for k: symbol scalar
hfft2(2 3#4 0 0 0 0 0f)  / 4 4 4 4\n4 4 4 4
tensor hfft2(tensor 2 3#4 0 0 0 0 0f)  / 4 4 4 4\n4 4 4 4
r:tensor 0#0f;hfft2(2 3#4 0 0 0 0 0f;r);tensor r  / 4 4 4 4\n4 4 4 4
hfft2(2 3#4 0 0 0 0 0f;1b)  / 'hfft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
hfft2 `a  / 'hfft2: no torch type found for k: symbol scalar
first ihfft2(2 2#4 4 4 4f)  / 4 0\n0 0
ihfft2(2 2#4 4 4 4f;1b)  / 'ihfft2: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
ihfft2 `a  / 'ihfft2: no torch type found for k: symbol scalar
fftn(2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
tensor fftn(tensor 2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
r:tensor(0#0f;`cdouble);fftn(2 2#1 2 3 4f;r);tensor r  / 10 -2 -4 0\n0 0   0 0
fftn(2 2#1 2 3 4f;1b)  / 'fftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
fftn `a  / 'fftn: no torch type found for k: symbol scalar
fftn(2 3 4#til 24;(2;2);(0;2))  / 26 -2 42 -2 58 -2 -24 0 -24 0 -24 0\n0 0 0 0 0 0       0 0 0 0 0 0
fftn(2 3 4#til 24;`size`dim!((2;2);(0;2)))  / 26 -2 42 -2 58 -2 -24 0 -24 0 -24 0\n0 0 0 0 0 0       0 0 0 0 0 0
ifftn(2 2#1 2 3 4f)  / 2.5 -0.5 -1  0\n0 0      0 0
tensor ifftn(tensor 2 2#1 2 3 4f)  / 2.5 -0.5 -1  0\n0 0      0 0
r:tensor(0#0f;`cdouble);ifftn(2 2#1 2 3 4f;r);tensor r  / 2.5 -0.5 -1  0\n0 0      0 0
ifftn(2 2#1 2 3 4f;1b)  / 'ifftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
ifftn `a  / 'ifftn: no torch type found for k: symbol scalar
rfftn(2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
tensor rfftn(tensor 2 2#1 2 3 4f)  / 10 -2 -4 0\n0 0   0 0
r:tensor(0#0f;`cdouble);rfftn(2 2#1 2 3 4f;r);tensor r  / 10 -2 -4 0\n0 0   0 0
rfftn(2 2#1 2 3 4f;1b)  / 'rfftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
rfftn `a  / 'rfftn: no torch type found for k: symbol scalar
irfftn(2 3#4 0 0 0 0 0f)  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
tensor irfftn(tensor 2 3#4 0 0 0 0 0f)  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
r:tensor 0#0f;irfftn(2 3#4 0 0 0 0 0f;r);tensor r  / 0.5 0.5 0.5 0.5\n0.5 0.5 0.5 0.5
irfftn(2 3#4 0 0 0 0 0f;1b)  / 'irfftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
irfftn `a  / 'irfftn: no torch type found for k: symbol scalar
irfftn(2 3#4 0 0 0 0 0f;`size`norm!((3;7);`forward))  / 4 4 4 4 4 4 4\n4 4 4 4 4 4 4\n4 4 4 4 4 4 4
hfftn(2 3#4 0 0 0 0 0f)  / 4 4 4 4\n4 4 4 4
tensor hfftn(tensor 2 3#4 0 0 0 0 0f)  / 4 4 4 4\n4 4 4 4
r:tensor 0#0f;hfftn(2 3#4 0 0 0 0 0f;r);tensor r  / 4 4 4 4\n4 4 4 4
hfftn(2 3#4 0 0 0 0 0f;1b)  / 'hfftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
hfftn `a  / 'hfftn: no torch type found for k: symbol scalar
first ihfftn(2 2#4 4 4 4f)  / 4 0\n0 0
ihfftn(2 2#4 4 4 4f;1b)  / 'ihfftn: unexpected boolean scalar, expecting size (long scalar or list), dim (long scalar or list), norm (symbol)
ihfftn `a  / 'ihfftn: no torch type found for k: symbol scalar
tensor fftfreq(6;`double)  / 0 0.1666667 0.3333333 -0.5 -0.3333333 -0.1666667
r:tensor 0#0f;fftfreq(6;`double;r);tensor r  / 0 0.1666667 0.3333333 -0.5 -0.3333333 -0.1666667
fftfreq `zz  / 'fftfreq length: expected long scalar, given symbol scalar
fftfreq(`zz`zy!1 2)  / 'fftfreq option: zz not recognized, expecting length, scale, options
tensor fftfreq(5;2.;`double)  / 0 0.1 0.2 -0.2 -0.1
tensor fftfreq(`length`scale`options!(5;2.;`double))  / 0 0.1 0.2 -0.2 -0.1
tensor rfftfreq(6;.5;`double)  / 0 0.3333333 0.6666667 1
r:tensor 0#0f;rfftfreq(6;.5;`double;r);tensor r  / 0 0.3333333 0.6666667 1
rfftfreq `zz  / 'rfftfreq length: expected long scalar, given symbol scalar
rfftfreq(`zz`zy!1 2)  / 'rfftfreq option: zz not recognized, expecting length, scale, options
fftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7   -3 2  0\n3   4  1  -2\n0.5 -1 -5 6
tensor fftshift(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7   -3 2  0\n3   4  1  -2\n0.5 -1 -5 6
fftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'fftshift: unexpected symbol scalar, expecting dim (long scalar or list)
fftshift `a  / 'fftshift: no torch type found for k: symbol scalar
fftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 3   4  1  -2\n0.5 -1 -5 6\n7   -3 2  0
fftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 3   4  1  -2\n0.5 -1 -5 6\n7   -3 2  0
ifftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.5 -1 -5 6\n7   -3 2  0\n3   4  1  -2
tensor ifftshift(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.5 -1 -5 6\n7   -3 2  0\n3   4  1  -2
ifftshift(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'ifftshift: unexpected symbol scalar, expecting dim (long scalar or list)
ifftshift `a  / 'ifftshift: no torch type found for k: symbol scalar
ifftshift(2 3 4#til 24;(0;2))  / 14 15 12 13 18 19 16 17 22 23 20 21\n2  3  0 1   6  7  4 5   10 11 8 9
ifftshift(2 3 4#til 24;(`dim;(0;2)))  / 14 15 12 13 18 19 16 17 22 23 20 21\n2  3  0 1   6  7  4 5   10 11 8 9
tensor bartlett(7;`double)  / 0 0.2857143 0.5714286 0.8571429 0.8571429 0.5714286 0.2857143
bartlett `zz  / 'bartlett length: expected long scalar, given symbol scalar
bartlett(`zz`zy!1 2)  / 'bartlett option: zz not recognized, expecting length, periodic, options
tensor bartlett(7;0b;`double)  / 0 0.3333333 0.6666667 1 0.6666667 0.3333333 0
tensor bartlett(`length`periodic`options!(7;0b;`double))  / 0 0.3333333 0.6666667 1 0.6666667 0.3333333 0
tensor blackman(7;0b;`double)  / 0 0.13 0.63 1 0.63 0.13 0
blackman `zz  / 'blackman length: expected long scalar, given symbol scalar
blackman(`zz`zy!1 2)  / 'blackman option: zz not recognized, expecting length, periodic, options
tensor hann(`length`options!(7;`double))  / 0 0.1882551 0.6112605 0.9504844 0.9504844 0.6112605 0.1882551
hann `zz  / 'hann length: expected long scalar, given symbol scalar
hann(`zz`zy!1 2)  / 'hann option: zz not recognized, expecting length, periodic, options
tensor hamming(7;1b;.5;.25;`double)  / 0.25 0.3441275 0.5556302 0.7252422 0.7252422 0.5556302 0.3441275
hamming `zz  / 'hamming length: expected long scalar, given symbol scalar
hamming(`zz`zy!1 2)  / 'hamming option: zz not recognized, expecting length, periodic, alpha, beta, options
tensor kaiser(7;0b;3;`double)  / 0.2048848 0.5530529 0.8712419 1 0.8712419 0.5530529 0.2048848
kaiser `zz  / 'kaiser length: expected long scalar, given symbol scalar
kaiser(`zz`zy!1 2)  / 'kaiser option: zz not recognized, expecting length, periodic, beta, options
first ihfft2(2 2#4 0 0 4f;2 2)  / 2 0\n0 2
first ihfftn(2 2#4 0 0 4f;2 2)  / 2 0\n0 2
size ihfftn tensor 4 4#0f  / 4 3
size ihfft2(tensor 4 4#0f;2 2)  / 2 2
dtype blackman(4;1b;`double)  / `double
size hann 5  / ,5
hann(4;`zz)  / 'hann: unrecognized tensor option: `zz
first 1_tensor hamming(3;0b;1;0;`double)  / 1f
dtype kaiser 3  / `float
kaiser(3;1b;2;`long)  / 'kaiser: kaiser_window expects floating point dtypes, got: TensorOptions(dtype=long int, device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))
fft(1 2 3f;0N;0)  / 6 -1.5      -1.5\n0 0.8660254 -0.8660254
fft(1 2 3f;1099511627776)  / 'fft: size is more than 2147483647 (given double list of 3, long 1099511627776)
fftn(2 2#1 2 3 4f;(2;1099511627776))  / 'fftn: size is more than 2147483647 (given double 2x2, long list of 2)
bartlett -1  / 'bartlett: length is -1
hann 0W  / 'limit
fftfreq(5;`zz)  / 'fftfreq: unrecognized tensor option: `zz
fftfreq(tensor 5;2)  / 'fftfreq length: expected long scalar, given tensor
hann()  / 'hann: length not given (given nothing)
r:tensor 0#0f;hann(3;r)  / 'hann: cannot write into an output tensor
gradflag bartlett(3;`grad`double)  / 1b
x:tensor(1 2 3f;`grad);backward Sum(Abs(rfft(x)));dtype x  / `double
fft[::]  / 'fft: expecting 1 input(s), given 0
setting`complexfirst,0b;fft 1 2f  / 3  0\n-1 0
setting`complexfirst,1b  /

hann 2147483648  / 'hann: length is more than 2147483647 (given long 2147483648)
first fft2(2 2#1 2 3 4e;();1 0)  / 10 -2\n-4 0
first fftn(2 2#1 2 3 4e;();0)  / 4  6\n-2 -2
fftshift(2 2#1 2 3 4e;())  / 4 3\n2 1
