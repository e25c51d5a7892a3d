import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grader, ScoreModelGrader, SingleGrader } from "../../base/domain/fine-tuning/grader.ts";
import type { AskModel, EmbedTexts } from "../../base/domain/fine-tuning/ask-model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { grade } from "./grade.ts";

const item = { answer: "Paris", list: [{ "a b": 1 }], flag: true };

async function graded(
  grader: Grader,
  text: string,
  ask: AskModel = () => assert.fail("no model judges"),
  embed: EmbedTexts = () => assert.fail("no model embeds"),
) {
  const { signal } = new AbortController();
  return grade(grader, { item, sample: { text, tools: [{ id: "c" }] } }, { ask, embed, signal });
}

function check(
  operation: "eq" | "ne" | "like" | "ilike",
  reference = "{{ item.answer }}",
  input = "{{sample.output_text}}",
): SingleGrader {
  return { type: "string_check", name: "check", input, reference, operation };
}

test("checks texts for equality and containment", async () => {
  const rewards = async (text: string) =>
    Promise.all(
      (["eq", "ne", "like", "ilike"] as const).map(async (one) => (await graded(check(one), text)).reward),
    );
  assert.deepEqual(await rewards("Paris"), [1, 0, 1, 1]);
  assert.deepEqual(await rewards("It is paris."), [0, 1, 0, 1]);
});

test("fills templates from the item and the answer, and names the variable that has no value", async () => {
  const table: readonly (readonly [template: string, filled: string])[] = [
    ["{{ item.list[0]['a b'] }} {{item.list.0}} {{item.flag}}", '1 {"a b":1} true'],
    ["{{ sample.output_json.city }}", "Paris"],
    ["{{ sample.output_tools[0].id }}", "c"],
  ];
  for (const [template, filled] of table)
    assert.equal((await graded(check("eq", filled, template), '{"city": "Paris"}')).reward, 1, template);
  const missing = await graded(check("eq", "{{ item.none }}"), "x");
  assert.deepEqual([missing.reward, missing.error?.kind], [0, "invalid_variable_error"]);
  const noJson = await graded(check("eq", "", "{{ sample.output_json.city }}"), "Paris");
  assert.equal(noJson.error?.kind, "sample_parse_error");
  assert.equal(
    (await graded(check("eq", "", "{{ item.constructor }}"), "")).error?.kind,
    "invalid_variable_error",
  );
});

test("compares the embeddings of texts, unless the texts are equal or one is empty", async () => {
  const cosine: Grader = {
    type: "text_similarity",
    name: "near",
    input: "{{ sample.output_text }}",
    reference: "{{ item.answer }}",
    evaluation_metric: "cosine",
  };
  const embed: EmbedTexts = async (texts) => {
    assert.deepEqual(texts, ["Paris", "Lyon"]);
    return [Float32Array.of(0.6, 0.8), Float32Array.of(-0.8, 0.6)];
  };
  assert.ok(Math.abs((await graded(cosine, "Lyon", undefined, embed)).reward) < 1e-7);
  assert.equal((await graded(cosine, "Paris")).reward, 1);
  assert.equal((await graded(cosine, "")).reward, 0);
});

const judge: ScoreModelGrader = {
  type: "score_model",
  name: "judge",
  model: "m",
  range: [0, 10],
  sampling_params: { temperature: 0, max_completions_tokens: 9 },
  input: [{ role: "developer", content: [{ type: "input_text", text: "Is {{ item.answer }} right?" }] }],
};

const says =
  (content: string, seen: JsonObject[] = []): AskModel =>
  async (body) => {
    seen.push(body);
    const message = { role: "assistant", content };
    return {
      choices: [{ message, finish_reason: "stop" }],
      usage: { total_tokens: 12, completion_tokens: 2 },
    };
  };

test("has a model score an answer within a range, and counts the tokens", async () => {
  const seen: JsonObject[] = [];
  const { reward, tokens } = await graded(judge, "x", says('{"result": 7.5}', seen));
  assert.deepEqual([reward, tokens], [7.5, { m: 12 }]);
  assert.deepEqual(seen[0]["messages"], [{ role: "system", content: "Is Paris right?" }]);
  assert.match(JSON.stringify(seen[0]["response_format"]), /"type":"number","minimum":0,"maximum":10/);
  assert.deepEqual([seen[0]["temperature"], seen[0]["max_tokens"]], [0, 9]);
  for (const wrong of ['{"result": 11}', '{"result": '])
    assert.equal((await graded(judge, "x", says(wrong))).error?.kind, "model_grader_parse_error");
  const away = async () => {
    throw new ServiceError({ code: "unavailable", message: "away" });
  };
  const failed = await graded(judge, "x", away);
  assert.deepEqual(
    [failed.reward, failed.error],
    [0, { kind: "model_grader_server_error", message: "away" }],
  );
});

test("gives 1 for a passing label and 0 for another", async () => {
  const { range: _, sampling_params: __, ...shared } = judge;
  const labels = {
    ...shared,
    type: "label_model",
    labels: ["good", "bad"],
    passing_labels: ["good"],
  } as const;
  assert.equal((await graded(labels, "x", says('{"result": "good"}'))).reward, 1);
  assert.equal((await graded(labels, "x", says('{"result": "bad"}'))).reward, 0);
});

test("combines graders by a formula", async () => {
  const multi = (calculate_output: string): Grader => ({
    type: "multi",
    name: "both",
    graders: { exact: check("eq"), loose: check("ilike") },
    calculate_output,
  });
  const both = await graded(multi("0.75 * exact + 0.25 * loose"), "paris!");
  assert.deepEqual([both.reward, both.subRewards], [0.25, { exact: 0, loose: 1 }]);
  const endless = await graded(multi("1 / exact"), "x");
  assert.deepEqual([endless.reward, endless.error?.kind], [0, "other_error"]);
});
