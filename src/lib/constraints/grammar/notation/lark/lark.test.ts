import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultGrammarLimits } from "../../../regex/limits.ts";
import { checkRefusal } from "../../../regex/testing/check-refusal.ts";
import { readLanguage } from "../../language.ts";
import { accepts } from "../../testing/accepts.ts";
import { CompiledConstraint } from "../../matcher.ts";
import { checkMasksAlong } from "../../testing/check-along.ts";
import { grammar } from "../../testing/make-constraints.ts";
import { vocabularyOf } from "../../testing/vocabularies.ts";
import { randomWalk } from "../../testing/walk.ts";

const read = (text: string) => readLanguage(grammar(text), defaultGrammarLimits);

const calculator = `
    // as in Lark's own examples
    ?start: sum
          | NAME "=" sum    -> assign_var

    ?sum: product
        | sum "+" product   -> add
        | sum "-" product   -> sub

    ?product: atom
        | product "*" atom  -> mul

    ?atom: NUMBER           -> number
         | "-" atom         -> neg
         | NAME             -> var
         | "(" sum ")"

    %import common.CNAME -> NAME
    %import common.NUMBER
    %import common.WS_INLINE
    %ignore WS_INLINE
`;

const json = `
    start: value
    ?value: object | array | string
          | SIGNED_NUMBER      -> number
          | "true" | "false" | "null"
    array  : "[" [value ("," value)*] "]"
    object : "{" [pair ("," pair)*] "}"
    pair   : string ":" value
    string : ESCAPED_STRING
    %import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
    %ignore WS
`;

const sql = `
start: select_statement
select_statement: "SELECT"i " " column " from " table (" where " condition)?
column: 'col_1' | 'col_2'
table: "table_1" | "table_2"
condition: column " = " /[0-9]+/
`;

const tools = `
start: (foo | bar)* TEXT
TEXT: ANY & ~(ANY "<function" ANY)
ANY: /(.|\\n)*/
HEAD: ANY "<function" & ~(ANY "<function" /(.|\\n)+/)
foo: HEAD "=foo>" %json { "type": "object", "properties": {"a{\\"": {"minimum": 3, "type": "integer"}}, "required": ["a{\\""], "additionalProperties": false } "</function>"
bar: HEAD "=bar>" %json {"type": "array", "items": {"const": 7}} "</function>"
`;

/** Grammars, each with texts that it accepts and texts that it rejects. */
const cases: readonly (readonly [text: string, accepted: readonly string[], others: readonly string[]])[] = [
  [calculator, ["1+2", "x = -1.5e3 * (y - 2) ", "a*b-c"], ["1+", "", " 1", "x=y=1", "(1"]],
  [json, ['{"a": [1, -2.5e+1, {"b": "\\u00e9\\n"}], "c": null}', "[]", "true\n"], ['{"a":}', "[1,]", "01a"]],
  [sql, ["SELECT col_1 from table_2", "select col_2 from table_1 where col_1 = 10"], ["select col_3"]],
  [
    tools,
    ["", "any <func text", 'x<function=foo>{"a{\\"":3}</function>y', "<function=bar>[7, 7]</function>"],
    ['<function=foo>{"a{\\"":2}</function>', "<function=baz>", "<function=bar>[7</function>", "a<function"],
  ],
  ['start: A\nA: /[a-z]+/ & ~"if" & ~/e.*/\n', ["a", "iff", "ife"], ["if", "else", "1"]],
  ['start: A+\nA: B | C\nB: "x".."z"\nC: "ab" ~ 2', ["x", "zyababx"], ["ab", "w", ""]],
  ['start: "a"~2..3 ("b" | ["c"])  "d"{1,2} "e"? "f"*', ["aabd", "aaacddeff", "aad"], ["ad", "aabcd"]],
  ['start: word ("," word)*\nword: /[a-z]+/i\n%ignore " "', ["aB, c ,d  "], [" a", "a,,b", "a b,1"]],
  ['%llguidance {"allow_initial_skip": true}\nstart: "a"\n%ignore /\\s/', ["  a\n"], ["aa"]],
  ['start: "straße"i', ["straße", "STRAẞE"], ["STRASSE"]],
  ["start: /a.b/ /c.d/s /(?s:.)/", ["a\rbc\nd\n"], ["a\nbc\nd\n"]],
  ['start: "\\x41\\u00e9\\t\\"\\\\" \'\\\'\' "\\ud83d\\ude00"', ["Aé\t\"\\'😀"], ["Aé"]],
  ['first: second?\nsecond: "b" # no start', ["", "b"], ["a"]],
  ['start: |"a"\n  | // nothing\n  "b"', ["", "a", "b"], ["ab"]],
  ['START: "a" "b"\n%ignore " "\nother: START', ["ab", "ab "], ["a b"]],
  ['start: mul\n!mul.2: (mul "*")? number\nnumber: INT\n%import common.INT', ["1", "1*23*4"], ["*1", "1**2"]],
  ['start: expr\nexpr: expr OP expr | "(" expr ")" | "1"\nOP: "+"|"-"', ["1", "(1+1)-1"], ["1+", "(1"]],
  ["start: C D\nC: /a|ab/\nD: /b?c/", ["abc", "ac", "abbc"], ["ab", "abbbc"]],
  // Examples from llguidance's documentation.
  [
    'start: with_stop "<end>"\nwith_stop[capture, stop="<end>"]: /.*/',
    ["foo<end>", "<end>", "<en<end>"],
    ["foo", "foo<end>bar<end>", "foo<end><end>"],
  ],
  [
    'start: with_suffix "b"?\nwith_suffix[capture="x", suffix="<end>"]: /.*/',
    ["foo<end>", "<end>b"],
    ["foo", "foo<end>bar<end>"],
  ],
  ["start: lazily rest\nlazily[lazy]: /.*<end>/\nrest: /b?/", ["foo<end>", "<end>b"], ["foo", "<end><end>"]],
  [
    "start: foo digit more\nfoo[lazy]: /.*/\ndigit[lazy]: /[0-9]+/\nmore: /[a-z]/",
    ["1a"],
    ["a1a", "12a", "a"],
  ],
  [
    `start: ( f_foo | f_bar )* f_end
f_end: TEXT
TEXT: /(.|\\n)*/

f_foo_hd[lazy]: TEXT "<function"
f_foo: f_foo_hd "=foo>" %json { "type": "object" } "</function>"

f_bar_hd[lazy]: TEXT "<function"
f_bar: f_bar_hd "=bar>" /[0-9]+/ "</function>"`,
    ["text", "a<function=bar>12</function>b<function=foo>{}</function>"],
    [],
  ],
  ['start: a "c"\na[stop="aba"]: /[ab]*/', ["c", "bbac", "abbc", "aac"], ["abac", "aabab", "abc", "babc"]],
  ['start[stop=""]: /a*/', ["", "aa"], ["b"]],
  ["start: A B\nA.2: /a+/\nB.-1: /a*c/", ["ac", "aac"], ["aa", "c"]],
  [
    '%import common.INT\nstart: INT sign\n%override INT: /[1-9]/\nsign: "+"\n%extend sign: "-"',
    ["1+", "2-"],
    ["0+", "12+", "1"],
  ],
  [
    'start: A\nA: %regex {"substring_chunks": ["abc", "de", "fg"]}',
    ["", "abc", "de", "abcde", "defg", "abcdefg"],
    ["ab", "cde", "abcfg"],
  ],
  [
    'start: "<" %regex {"substring_words": "foo bar. baz"} ">"',
    ["<foo>", "<bar. baz>", "< bar>", "<.>", "<>"],
    ["<fo>", "<foo baz>", "<ar.>"],
  ],
  ['start: %regex {"type": "substring", "chunks": ["a", "b"]}', ["ab", "b", ""], ["ba"]],
  ['start: %regex {"substring_chars": "ab c"}', ["b c", "ab"], ["ac"]],
  ['%llguidance {"no_forcing": true}\nstart: "a"', ["a"], [""]],
  [
    "%import common (CNAME, ESCAPED_STRING, C_COMMENT, FLOAT, SIGNED_INT)\nstart: CNAME ESCAPED_STRING C_COMMENT FLOAT SIGNED_INT",
    ['_a1"x\\"y"/* * **/1.e5-3', 'a""/***/.5+12'],
    ['a"x"y"/**/1.0-3', 'a""/**/5-3', 'a""/**/ */1.5-3'],
  ],
];

test("accepts the texts of a grammar and no others", () => {
  for (const [text, accepted, others] of cases) {
    const language = read(text);
    for (const one of accepted) assert.ok(accepts(language, one), `${text}\n${one}`);
    for (const one of others) assert.ok(!accepts(language, one), `${text}\n${one}`);
  }
});

test("masks equal those computed by trying each token, and no mask leads to a dead end", () => {
  const vocabulary = vocabularyOf([
    "aa",
    "ab",
    "<func",
    "tion=",
    '{"',
    '":',
    "1+1",
    '"}',
    " \n",
    "true",
    "= 1",
  ]);
  let state = 7;
  const draw = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (const [text] of cases) {
    const constraint = new CompiledConstraint(read(text), vocabulary);
    const { tokens } = randomWalk(constraint, draw, 20);
    checkMasksAlong(constraint, tokens, { fresh: () => read(text), name: text });
  }
});

test("refuses unsupported syntax and reports the position", () => {
  for (const [text, kind, subject, place] of [
    ["start: a", "malformed", "a", "position 7"],
    ['start: "a', "malformed", "an unclosed text", "position 7"],
    ['start: ("a"', "malformed", "an unclosed group", "position 7"],
    ["start: /a", "malformed", "an unclosed regular expression", "position 7"],
    ['start: "a" )', "malformed", "no rule", "position 11"],
    ['start: "a"\nstart: "b"', "malformed", "a second start", "position 11"],
    ['start: "\\q"', "malformed", "the unknown escape \\q", "position 7"],
    ['start: "z".."a"', "malformed", "a range whose ends are out of order", "position 7"],
    ['start: "ab".."c"', "malformed", "a range whose ends are not one character each", "position 7"],
    ['start: A\nA: b\nb: "b"', "malformed", "the rule b in a terminal", "position 12"],
    ['start: A\nA: "a" B\nB: A', "malformed", "a recursive terminal B", "position 21"],
    ['start: %json {"type": ', "malformed", "no JSON object", "position 7"],
    ['start: %json {"type": 1}', "malformed", "type", "position 7, #/type"],
    [
      'start: %json {"contains": {}, "uniqueItems": true}',
      "not-exact",
      "uniqueItems",
      "position 7, #/uniqueItems",
    ],
    ['start: %regex {"type": "number"}', "not-exact", "a %regex of another kind", "position 7"],
    ['start: %regex {"substring_chunks": ["a", 1]}', "not-exact", "a %regex of another kind", "position 7"],
    ["start: <[1-10]>", "not-exact", "a token by name", "position 7"],
    ["start: <|tool|>", "not-exact", "a token by name", "position 7"],
    ["start: @other", "not-exact", "another grammar", "position 7"],
    ['start: list{"a"}\nlist{x}: x', "not-exact", "a rule with parameters", "position 7"],
    ["list{x}: x", "not-exact", "a template", "position 4"],
    ['start[stop="b", max_tokens=3]: "a"', "not-exact", "the attribute max_tokens", "position 16"],
    ['start[temperature=0.5]: "a"', "not-exact", "the attribute temperature", "position 6"],
    ['start[stop=/b+/]: "a"', "not-exact", "a stop that is not one text", "position 6"],
    ['start[stop="b"i]: "a"', "not-exact", "a stop that is not one text", "position 6"],
    ['start[suffix]: "a"', "malformed", "an attribute without a value", "position 6"],
    ['start[suffix="b", stop="c"]: "a"', "malformed", "a rule with both suffix and stop", "position 27"],
    ['start[lazy]: a\na: "a"', "malformed", "the rule a in a terminal", "position 13"],
    ['start: A\nA[lazy]: "a"', "not-exact", "a terminal with attributes", "position 10"],
    ['%override A: "a"\nstart: A', "malformed", "a change of A, which is not yet defined", "position 10"],
    ["start: A\n%declare A", "not-exact", "the directive %declare", "position 9"],
    ["start: A\n%import python.A", "not-exact", "an import of python.A", "position 9"],
    ["start: A\n%import common.A", "not-exact", "an import of common.A", "position 9"],
    [
      '%llguidance {"skip_repetition": "once"}\nstart: "a"',
      "not-exact",
      "the option skip_repetition",
      "position 0",
    ],
    ['start: "a" & "b"', "not-exact", "an & outside a terminal", "position 11"],
    ["start: /a*?b/", "not-exact", "a lazy quantifier", "position 7, position 2"],
    ["start: /a(?=b)/", "not-exact", "an anchor or a look-ahead in a terminal", "position 7"],
    ["start: /a/x", "not-exact", "a regular expression with the flag x", "position 7"],
    ['start: "a" start', "unsatisfiable", "grammar", ""],
    ["start: %json false_ {}", "malformed", "no JSON object", "position 7"],
  ] as const)
    checkRefusal(() => read(text), [kind, subject, place], text);
});

test("ignores an alternative whose schema has no valid value", () => {
  const language = read('start: %json {"type": "string", "not": {}} | "a"');
  assert.ok(accepts(language, "a") && !accepts(language, '""'));
});
