import assert from "node:assert/strict";
import { test } from "node:test";
import { readLanguage } from "../../language.ts";
import { accepts } from "../../testing/accepts.ts";
import { defaultGrammarLimits } from "../../../regex/limits.ts";
import { checkRefusal } from "../../../regex/testing/check-refusal.ts";
import { CompiledConstraint } from "../../matcher.ts";
import { checkMasksAlong } from "../../testing/check-along.ts";
import { grammar } from "../../testing/make-constraints.ts";
import { vocabularyOf } from "../../testing/vocabularies.ts";
import { randomWalk } from "../../testing/walk.ts";

const read = (text: string) => readLanguage(grammar(text), defaultGrammarLimits);

const arithmetic = `
root  ::= (expr "=" ws term "\\n")+   # lines
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \\t\\n]*
`;

const json = `
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\\"" ([^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\\n" [ \\t]{0,20}
`;

/** Grammars, each with texts that it accepts and texts that it rejects. */
const cases: readonly (readonly [text: string, accepted: readonly string[], others: readonly string[]])[] = [
  [arithmetic, ["a+b=c\n", "(1 -x_1)*2= 3\ny=y\n"], ["a+=b\n", "(a=b\n", "a=b"]],
  [json, ['{"a": [1, -2.5e+1, {"b": "\\u00e9\\n"}]}', "{}"], ["[]", '{"a":}', '{"a":1,}', '{"a":01}']],
  ['root ::= "a" root "b" | ""', ["", "ab", "aaabbb"], ["aab", "abb", "ba"]],
  ['root ::= "a" root "a" | "b" root "b" | [ab]?', ["abba", "aba", "", "bb"], ["ab", "abab"]],
  ['root ::= item{2,3}\nitem ::= "x" | "(" item ")"', ["xx", "x(x)((x))"], ["x", "xxxx"]],
  ['root ::= x*\nx ::= "(" x ")" | ""', ["", "()(())"], ["(", ")("]],
  [
    'root ::= sum\nsum ::= sum "+" one | one\none ::= "1" | "(" sum ")"',
    ["1", "1+1+1", "(1+1)+1"],
    ["+1", "1+", "(1"],
  ],
  [
    'root ::= a "x"\na ::= b "1" | "a"\nb ::= a "2" | "b"',
    ["ax", "b1x", "a21x", "b121x"],
    ["bx", "a2x", "x"],
  ],
  ['root ::= list\nlist ::= "" | list "a" | list "(" list ")"', ["", "aa", "a(a)(())"], ["(", "b"]],
  ['root ::= "x" "\\x41\\u00e9\\t" . [^a-c\\]]{,2}', ["xAé\t😀", "xAé\t\nzz"], ["xAé\t", "xAé\tza"]],
  ['root ::= "a" | "b" endless\nendless ::= "c" endless', ["a"], ["b", "bc"]],
  ['root ::= [a-z]+ | \n  "1" # more\n  | rest-1\nrest-1 ::= "-"', ["abc", "1", "-"], ["a1"]],
];

test("accepts the texts of a grammar and no others", () => {
  for (const [text, accepted, others] of cases) {
    const language = read(text);
    for (const one of accepted) assert.ok(accepts(language, one), `${text}\n${one}`);
    for (const one of others) assert.ok(!accepts(language, one), `${text}\n${one}`);
  }
});

test("accepts and rejects long texts of an ambiguous grammar within the limits", () => {
  const language = read('root ::= s\ns ::= "a" s "b" | "a" s "c" | s s | "d"');
  assert.ok(accepts(language, `${"a".repeat(40)}d${"bc".repeat(20)}`));
  assert.ok(!accepts(language, `${"a".repeat(40)}d${"bc".repeat(21)}`));
});

const levels = (count: number, rule: (index: number) => string) =>
  ["root ::= r0", ...Array.from({ length: count }, (_, index) => rule(index)), `r${count} ::= "1"`].join(
    "\n",
  );

test("supports left recursion through twenty levels", () => {
  const language = read(
    `${levels(20, (index) => `r${index} ::= r${index} "${String.fromCharCode(97 + index)}" r${index + 1} | r${index + 1}`)} | "(" root ")"`,
  );
  assert.ok(accepts(language, "1a(1t1b1)c1"));
  assert.ok(!accepts(language, "1a(1t1b1c1"));
});

test("supports large numbers of mutually recursive rules, or reports the limit they exceed", () => {
  for (const [text, whole] of [
    [levels(100, (index) => `r${index} ::= "b" r${index} | r${index + 1}`), "bbb1"],
    [levels(100, (index) => `r${index} ::= r${index + 1}`), "1"],
    [levels(20, (index) => `r${index} ::= r${index + 1} "b" | r0 "x" | "y"`), "ybbbbbbxxbb"],
  ] as const) {
    assert.ok(accepts(read(text), whole), text);
    assert.ok(!accepts(read(text), `${whole}1`), text);
  }
  for (const text of [
    levels(1_000, (index) => `r${999 - index} ::= "b" r${999 - index} | r${1_000 - index}`),
    levels(1_000, (index) => `r${index} ::= r${index + 1} "b" | r0 "x" | "y"`),
    levels(1_000, (index) => `r${index} ::= r${index} r${index + 1} | ""`),
    levels(1_000, (index) => `r${index} ::= r${index + 1}`),
  ])
    assert.throws(() => read(text), /limit (compileSteps|nesting) of/);
});

test("masks equal those computed by trying each token, and no mask leads to a dead end", () => {
  const vocabulary = vocabularyOf([
    "aa",
    "ab",
    "a=",
    "((",
    ")=",
    '{"',
    '":',
    "1+1",
    '"}',
    " \n",
    "true",
    "cb",
  ]);
  let state = 7;
  const draw = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (const [text] of cases) {
    const constraint = new CompiledConstraint(read(text), vocabulary);
    const { tokens } = randomWalk(constraint, draw, 25);
    checkMasksAlong(constraint, tokens, { fresh: () => read(text), name: text });
  }
});

test("refuses invalid grammars and reports the position", () => {
  for (const [text, kind, subject, place] of [
    ["", "malformed", "no rule root", "position 0"],
    ['root ::= "a', "malformed", "an unclosed text", "position 9"],
    ["root ::= [a", "malformed", "an unclosed class", "position 9"],
    ['root ::= ("a"', "malformed", "an unclosed group", "position 9"],
    ["root ::= a", "malformed", "a", "position 9"],
    ['root ::= "a" )', "malformed", "no rule", "position 13"],
    ['root ::= "a"\nroot ::= "b"', "malformed", "a second rule root", "position 13"],
    ['root ::= "\\q"', "malformed", "the unknown escape \\q", "position 10"],
    ["root ::= <think>", "not-exact", "a token by name", "position 9"],
    ['root ::= "a"{10001}', "not-exact", "a repetition of more than 10000 times", "position 12"],
    ['root ::= "a" (="b")', "not-exact", "a look-ahead", "position 13"],
    ['root ::= "a" root', "unsatisfiable", "grammar", ""],
  ] as const)
    checkRefusal(() => read(text), [kind, subject, place], text);
});
