"""What the fuzzer draws from: pieces of tests and of turns, those that are expensive first of all.

A pool is text, its pieces apart by two blanks or a line's end. In templates `$A` is a small or huge piece, `$V` a
variable, `$X` an exception; `¶` is a line's end, `→` an indentation.
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
STATEMENTS = pool("""
assert f($A) == $A  assert f($A) == $A  assert f($A) != $A  assert f($A)  assert not f($A)  assert f($A) in ($A, $A)
assert f($A) is $A  assert f($A) < $A  assert $A == f($A)  assert f($A) == pytest.approx($A, abs=$A)  assert f(x=$A) == $A
assert abs(f($A) - $A) < 1e-6  with pytest.raises($X):¶→f($A)  assert f([$A] * 3) == [$A, *$A]  assert f({$A: $A}) == {$A, $A}
x = f($A)¶assert x == $A  for i in ($A, $A):¶→assert f(i) == $A  def g(x):¶→assert f(x) == $A¶g($A)  assert f(f($A)) == $A
try:¶→f($A)¶→assert False¶except ValueError:¶→pass  import solution  f = len  $V = $A  assert f(range($A)) == list(range(3))
assert f($A + $A) == $A * 3  assert f($A ** 2) == -$A  assert f(set($A)) == frozenset([$A])  assert f(float($A)) == $A, $A
assert f(lambda x: x) == $A  assert (lambda: f($A))() == $A  raise $X  pytest.skip('$A')  return  yield $A
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
