/ data types that q has no type for
dtypes:`bfloat16`float8e4m3`float8e5m2`ushort`uint`ulong  /
dtypes~{dtype tensor(1 2 3;x)}each dtypes  / 1b
{type tensor tensor(1 2 3;x)}each dtypes  / 8 8 8 6 7 7h
{bytes tensor(1 2 3;x)}each dtypes  / 6 3 3 6 12 24
all{1 2 3~"j"$tensor tensor(1 2 3;x)}each dtypes  / 1b
all{[d]t:tensor 1 2 3e;to(t;d);1 2 3~"j"$tensor t}each dtypes  / 1b
all{(3 0#0)~"j"$tensor tensor(`zeros;3 0;x)}each dtypes  / 1b
all{2 2~"j"$tensor tensor(`full;2;2;x)}each dtypes  / 1b
tensor tensor(1.1 1000 -3e;`bfloat16)  / 1.101562 1000 -3e
tensor tensor(1.1 -3e;`float8e4m3)  / 1.125 -3e
tensor tensor(1.1 -3e;`float8e5m2)  / 1 -3e
k:`float8e4m3fnuz`float8e5m2fnuz`float8e8m0  /
k~{dtype tensor(1;x)}each`float8_e4m3fnuz`float8_e5m2fnuz`float8_e8m0fnu  / 1b
{tensor tensor(.6 2 4e;x)}each k  / 0.625 2 4\n0.625 2 4\n0.5   2 4
{t:tensor 2 4e;to(t;x);(bytes t;tensor t)}each k  / 2 2 4e\n2 2 4e\n2 2 4e
str[tensor(2e;`float8e8m0)]like"*CPUFloat8_e8m0fnuType*"  / 1b
tensor tensor(0n 0w -0w;`bfloat16)  / 0N 0w -0we
tensor tensor(65535 -1 65536;`ushort)  / 65535 65535 0i
tensor tensor(4294967295 -1;`uint)  / 4294967295 4294967295
tensor tensor(5 -1;`ulong)  / 5 -1
tensor tensor(7;`uint)  / 7
tensor tensor(1.5;`bfloat16)  / 1.5e
{dtype tensor(1;x)}each`float16`float32`float64`int8`int16`int32`int64`uint8`uint16`uint32`uint64  / `half`float`double`char`short`int`long`byte`ushort`uint`ulong
{dtype tensor(1;x)}each`float8_e4m3fn`float8_e5m2`complex64  / `float8e4m3`float8e5m2`cfloat
tensor(1;`float9)  / 'tensor: unrecognized tensor option: `float9 (near `float`cfloat`bfloat16)
/ arithmetic where torch has it
x:tensor(1 2e;`bfloat16)  /
tensor x+x  / 2 4e
dtype x+x  / `bfloat16
dtype Sum tensor(1 2e;`bfloat16)  / `bfloat16
x:tensor(1 2;`uint)  /
x+x  / '+: "add_stub" not implemented for 'UInt32'
x:tensor(1 2e;`bfloat16`grad)  /
backward Sum x*x  /
grad x  / 2 4e
m:module enlist(`linear;2;1)  /
to(m;`bfloat16)  /
dtype forward(m;tensor(1 2#1e;`bfloat16))  / `bfloat16
evaluate(m;1 2#1e)  / 'evaluate: mat1 and mat2 must have the same dtype, but got Float and BFloat16
