import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { defaultGrammarLimits } from "../../../regex/limits.ts";
import { readLanguage } from "../../language.ts";
import { accepts } from "../../testing/accepts.ts";
import { CompiledConstraint } from "../../matcher.ts";
import { grammar } from "../../testing/make-constraints.ts";
import { vocabularyOf } from "../../testing/vocabularies.ts";
import { randomWalk } from "../../testing/walk.ts";

const folder = "test/fixtures/gbnf";

interface Examples {
  readonly accepted: readonly string[];
  readonly others: readonly string[];
}

/** For each of llama.cpp's grammars, texts that it accepts and similar texts that it rejects. */
const examples: Readonly<Record<string, Examples>> = {
  arithmetic: {
    accepted: ["a=1\n", "x_1 +(2*y)\t/3= z\n12=34 \n", "a\n-b=c\n"],
    others: ["a=1", "=1\n", "a=1+2\n", "(a=1\n", "A=1\n", "a b=1\n", ""],
  },
  c: {
    accepted: [
      "",
      "int main(){return 1;}",
      "int f(float x){int y = g(x, 1+-2*( 3 ));while(x<y){x = x+1;}/* a * b */return x;// end\n}char g(){}",
      "int f(){for(int i = 0; i<9; i = i+1){if(i==3){g ();}else{h (i);}}}",
    ],
    others: [
      "int main(){return 1}",
      "int main(){x=1;}",
      "long f(){}",
      "int f(){if(1){}}",
      "int f(){/* a */ b */}",
    ],
  },
  chess: {
    accepted: ["1. e4 e5\n2. Nf3 Nc6\n", "1. e4 c5\n2. exd5 Qxd5+\n3. O-O O-O-O#\n99. a8=Q Rb1xb8\n"],
    others: [
      "1. e4 e5\n",
      "1. e4 e5\n2. Nf3\n",
      "1. e9 e5\n2. a1 a2\n",
      "1. e4 e5\n0. a1 a2\n",
      "1. a8=K=Q e5\n2. a1 a2\n",
    ],
  },
  english: {
    accepted: ["Hello, world!", "[a\\b]\tc\nd", "x"],
    others: ["", " a", "a  b", "é", "a\u00a0b", "a "],
  },
  japanese: {
    accepted: ["こんにちは", "日本語、カタカナ\nです。", "ゟヿ〾"],
    others: ["", "a", "日本 ", "日本語a", "ｱ"],
  },
  json: {
    accepted: [
      "{}",
      '{"a": [1, -2.5e+1, true, {"b": "\\u00e9\\n\\\\"}], "c": null}',
      '{ "a":\n\t 0.5 }',
      '{"a":12,"é":""}',
    ],
    others: [
      "[]",
      "",
      '{"a":}',
      '{"a":1,}',
      '{"a":01}',
      '{"a":"\n"}',
      '{"a":"\\x"}',
      "{'a':1}",
      '{"a":.5}',
      '{"a":1',
    ],
  },
  json_arr: {
    accepted: ["[\n]", '[\n1,\n"a",\n{"b":[]}]', "[\n [[],[ null ]]]"],
    others: ["[]", "[\n1,2]", "[\n1,\n]", "{}", "[\n]\n"],
  },
  list: {
    accepted: ["- a\n", "- milk & honey\n- 蜂蜜\n"],
    others: ["", "- a", "-a\n", "- \n", "- a\rb\n", "- a\u2028b\n", "a\n"],
  },
};

const language = (name: string) =>
  readLanguage(grammar(readFileSync(`${folder}/${name}.gbnf`, "utf8")), defaultGrammarLimits);

test("every grammar of llama.cpp has examples", () => {
  const names = readdirSync(folder).flatMap((file) => (file.endsWith(".gbnf") ? [file.slice(0, -5)] : []));
  assert.deepEqual(names.sort(), Object.keys(examples).sort());
});

for (const [name, { accepted, others }] of Object.entries(examples)) {
  test(`${name}.gbnf accepts its examples and rejects similar texts`, () => {
    const read = language(name);
    for (const text of accepted) assert.ok(accepts(read, text), text);
    for (const text of others) assert.ok(!accepts(read, text), text);
  });
}

test("texts generated under a grammar's masks belong to its language", () => {
  const vocabulary = vocabularyOf(["int", "main(", "){", ";}", "1.", "e4", '{"', '":', "[\n", " - ", "日本"]);
  let state = 11;
  const draw = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (const name of Object.keys(examples)) {
    const constraint = new CompiledConstraint(language(name), vocabulary);
    for (let walk = 0; walk < 5; walk++) {
      const { text, isFinished } = randomWalk(constraint, draw, 60);
      if (isFinished) assert.ok(accepts(language(name), new TextDecoder().decode(text)), name);
    }
  }
});
