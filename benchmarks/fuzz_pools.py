"""What the fuzzer draws from: pieces of tests and of turns, those that are expensive first of all.

A pool is text, its pieces apart by two blanks or a line's end. In templates `$E` is an expression, `$A` a small or huge
piece, `$C` a condition, `$S` a result seen through something, `$B` a builtin, `$N` a size, `$V` a variable, `$X` an
exception, `$G` something that grows a variable; `¶` is a line's end, `→` an indentation.
"""

from __future__ import annotations

import re


def pool(text: str) -> tuple[str, ...]:
    """The pieces of a pool's text."""
    pieces = re.split(r" {2,}|\n", text.strip())
    return tuple(piece.replace("¶", "\n").replace("→", "    ") for piece in pieces)


SMALL = pool("""
0  1  -1  2  3  7  10  True  None  0.5  -2.5  'a'  'ab'  ''  b'a'  []  ()  {}  [1, 2]  (1, 2)  {1, 2}  {'a': 1}
[[1], [2]]  ['a', 'b']  range(3)  1j  [3, 1, 2]  'a b'  lambda x: x  lambda x, y: x + y  len  str  f  f(1)  f(1, 2)
x  y  z  '\\ud800'  '\\0'  '{0.__class__}'  '{:>999999999}'  '%s'  '{0[0]}'  '\\x1b[31m'  slice(1)  float('nan')
""")
HUGE = pool("""
10**9  -10**9  10**18  2**9999  -2**9999  10**3000  99999  100000  1e308  float('inf')  'a' * 10**5  'a' * 99999
'{a}' * 33000  '9' * 5000  '\\u00e9' * 99999  '\\0' * 999  '\\ud83d\\ude00' * 9999  b'a' * 10**5  bytes(10**5)
[0] * 10**5  [[]] * 10**5  list(range(10**5))  range(10**18)  range(10**5)  [[0] * 300] * 300  (2**9000,) * 99
'a,' * 50000  [i * (2**61 - 1) for i in range(3000)]  {i: i for i in range(4000)}  set(range(5000))  [x] * 10**5
[list(range(i)) for i in range(300)]  '(' * 10**6  [2**9000 + i for i in range(999)]  'punycode'  'idna'  'utf-16'
'unicode_escape'  'a' * 2000  [(i, i) for i in range(999)]
""")
NUMBERS = pool("""
0  1  -1  2  3  10  True  0.5  -2.5  10**9  -10**9  10**18  2**9999  -2**9999  2**9998 + 1  99999  4999  1000  100  1e308
1e-300  float('inf')  float('nan')  1j  len([0] * 10**5)
""")
SEQUENCES = pool("""
[]  [1, 2]  (1, 2)  [[1], [2]]  ['a', 'b']  range(3)  [3, 1, 2]  {1, 2}  {'a': 1}  [0] * 10**5  [[]] * 10**5  y  [x] * 10**5
list(range(10**5))  range(10**18)  range(10**5)  [[0] * 300] * 300  (2**9000,) * 99  [i * (2**61 - 1) for i in range(3000)]
{i: i for i in range(4000)}  set(range(5000))  [list(range(i)) for i in range(300)]  [2**9000 + i for i in range(999)]
[(i, i) for i in range(999)]  ['a' * 999] * 999  [[0] * 9999] * 99  ((),) * 10**5  [1.5] * 9999  [[[]]] * 99999
""")
STRINGS = pool("""
''  'a'  'ab'  'a b'  b'a'  ','  'a' * 10**5  'a' * 2000  '{a}' * 33000  '9' * 5000  '\\u00e9' * 99999  '\\0' * 999
'a,' * 50000  '(' * 10**6  b'a' * 10**5  '\\ud83d\\ude00' * 9999  '\\ud800'  'punycode'  'idna'  'utf-16'  'unicode_escape'
'utf-8'  ' ' * 99999  '{0}' * 9999  '{:>999999999}'  'ignore'  'xmlcharrefreplace'  'backslashreplace'
""")
SIZES = pool("3  3  20  60  60  99  1000  10**5")
KEYWORDS = pool("key  reverse  default  start  repeat  a  base  strict  initial  ndigits  sep  encoding  x  maxsplit")
OPERATORS = pool("+  -  *  /  //  %  **  <<  >>  |  &  ^  ==  !=  <  >=  in  not in  is  @")
OWNERS: dict[str, tuple[str, ...]] = {
    "str": pool("'a'  'ab c'  'a' * 99999  '{a}' * 33000  '{}' * 999  '\\u00e9' * 9999  x  ','  '9' * 5000"),
    "bytes": pool("b'ab'  b'\\xff' * 99999  bytes(10**5)"),
    "list": pool("[1, 2]  [0] * 10**5  [[]] * 10**5  list(range(10**5))  [x] * 10**5  y"),
    "tuple": pool("(1, 2)  (0,) * 10**5  ((),) * 10**5"),
    "dict": pool("{}  {'a': 1}  {i: i for i in range(4000)}"),
    "set": pool("{1}  set(range(5000))  {i * (2**61 - 1) for i in range(30)}"),
    "frozenset": pool("frozenset([1])  frozenset(range(5000))"),
    "int": pool("7  2**9999  True"),
    "float": pool("1.5  1e308  float('nan')"),
}
OTHERS = pool("""
[$E for i in $E]  [$E for i in range($N) for j in $E]  ($E)[$E]  {i for i in $E}  {$E: $E}  ($E)[$E:$A]  ($E) if ($E) else 0
f'{$V!r:>99}'  f'{$V:9999999}'  f'{$V:.3f}'  -($E)  not ($E)  all($E for i in $E)  [*$E, *$E]  (lambda x: $E)($E)  $E and $E
($E).real  ($E)[::$A]  ~($E)  {**$E}  [$V, $V][$A]
""")
GROWTH = pool("""
x = [x, x]  x = (x, x)  x = x + x  x += x  x *= 2  x = {0: x, 1: x}  x.append(x)  x.extend(x)  x = [x] * 9  x = x * 9
x = x[:]  y = x[1:]  x = x ** 2  x = str(x)  x = repr([x, x])  x = x << 99  x = f'{x}{x}'  x = frozenset([x, 1])
x = lambda x=x: x  y = sorted(x)  y = x == y  x[i] = x  x[0] = [x, x]  x = x | {i}  x = dict(x, a=x)  y = list(x) + list(y)
x = x.replace('a', 'aa')  x = ','.join([x, x])  y.append(f(x))  y = [y, f(i)]
y = x.foo() + len(z)  x = repr([x, x]) + nope  y = [1, 2, 3, 4][x.foo()]  x = f(x)  y = f(1) + y  y = y or f(i)
x = sorted(f(i))
""")
STATEMENTS = pool("""
with pytest.raises($X):¶→f($A)  self.assertEqual($C, 1)  if $E:¶→x = $A  def g(x):¶→return $E¶y = g  $E  x, *y = $E  f = len
try:¶→f($A)¶→assert False¶except ValueError:¶→pass  import numpy  import solution  import os  x = y  print(x)  del x
assert $E  y = f($A)¶assert y == $A  assert f($E) == $E  def g(x):¶→return g(x)¶y = g(1)  for i in f($A):¶→assert i == $A
with pytest.raises($X) as e:¶→f($A)¶assert $A in str(e.value)  assert g($E)  assert x == $A  $V.sort(key=lambda x: $E)
def f(x):¶→return $E
""")
SEEN = pool("$F  $F  $B($F)  $F[$A]  ($F).$M()  ($F).$M($A)  [$E for i in $F]  $F[$A:$A:$A]")
CALLS = pool("f(1)  f(1)  f(x)  f(x, y)  f($E)  f(x=$A)")
CONDITIONS = pool("""
$S == $E  $S == $E  $S == $A  $S != $A  $S < $A  $S in $A  abs($S - $A) < $A  $S == pytest.approx($A, $A)  $S  not $S
all($E for i in $S)  $S == f($A)  isinstance($S, $B)  round($S, $A) == $A  $A in $S  $S == $A or $S == $A  $E  $S is $A
len($S) == len($A)  sorted($S) == $A  all(a <= b for a, b in zip($S, $S[1:]))  $A < $S < $A  $S and $S  math.isclose($S, $A)
sum($E for i in $S if $E) == $A  $S == $S  type($S) is $B
""")
FENCES = pool("```python  ```py  ```  ~~~  ```text  ```input  ```output  ````python  > ```python  ```json")
LINES = (
    *("\t", " ", "", "\0", "\ud800", "\u2028", "\x0c", "\r", "a" * 200, "(" * 90 + ")" * 90, "def f(" + "a, " * 80),
    *pool("""
@a  @  assert f(1) == 2  assert f(1) ==  def f(x):  →return x  class A:  import os  from x import  if x:  for  while True:
x = [  ]  )  (  '''  \"\"\"  \\  x = 1  x: int = 3  async def f():  <think>  </think>  ```  ```python  ~~~  Input:  Output:
### Input 1  **Output:** 3  1 2 3  ```input  - assert f(1) == 2  1. `assert f(2) == 3`  Here is the solution.  [(1, 2), 3],
((1,), 2)  [[1, 2], 3]  tests = [  try:  else:  elif x:  except:  with open(x) as f:  print(  a.b.c(  lambda:  f(  [[[[  {{{{
-  not  *  a,  a = b =  x\\  #  return  @a(b  with pytest.raises(ValueError):  if __name__ == "__main__":  Expected output:
assert f('  def g(x): return x  @a¶@b  ```python¶x = 1¶```  assert (  class A(B  x = {  for i in x: pass  match x:  type X = int
"""),
)
