// Tests the grader routes of OpenAI's API with the official client: every grader runs, and errors name the fault.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { NotFoundError, type UnprocessableEntityError } from "openai";
import { serverOfFile } from "./running-server.ts";

let openai: OpenAI;
serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

type Grader = OpenAI.FineTuning.Alpha.GraderRunParams["grader"];

const exact = {
  type: "string_check",
  name: "exact",
  input: "{{ sample.output_text }}",
  reference: "{{ item.answer }}",
  operation: "eq",
} as const;
const similar = {
  type: "text_similarity",
  name: "similar",
  input: "{{ sample.output_text }}",
  reference: "{{ item.answer }}",
  evaluation_metric: "rouge_l",
} as const;
const judge = {
  name: "judge",
  model: "hone-tiny",
  input: [{ role: "user", content: "Is {{ sample.output_text }} right?" }],
} as const;

const run = (grader: object, sample = "It is Paris") =>
  openai.fineTuning.alpha.graders.run({
    grader: grader as Grader,
    model_sample: sample,
    item: { answer: "Paris" },
  });

test("runs graders on an answer, and combines them by a formula", async () => {
  const first = await run(exact, "Paris");
  assert.deepEqual([first.reward, first.metadata.name, first.metadata.type], [1, "exact", "string_check"]);
  assert.equal(first.metadata.token_usage, null);
  assert.equal((await run(similar)).reward, 0.5);
  const near = { ...similar, evaluation_metric: "cosine" };
  const [equal, other] = [await run(near, "Paris"), await run(near, "a green apple")];
  const embedded = await openai.embeddings.create({ model: "hone-tiny", input: ["Paris", "a green apple"] });
  const [paris, apple] = embedded.data.map(({ embedding }) => embedding);
  assert.equal(equal.reward, 1);
  const dot = paris.reduce((sum, value, index) => sum + value * apple[index], 0);
  assert.ok(Math.abs(other.reward - dot) < 1e-6, `${other.reward} and ${dot}`);
  const graders = { exact, similar };
  const multi = { type: "multi", graders, calculate_output: "exact + 0.5 * similar" };
  const both = await run(multi);
  assert.deepEqual([both.reward, both.sub_rewards], [0.25, { exact: 0, similar: 0.5 }]);
  assert.equal(both.metadata.name, "multi");
  const { reward, metadata } = await run({ ...exact, reference: "{{ item.none }}" });
  assert.deepEqual([reward, metadata.errors.invalid_variable_error], [0, true]);
});

test("has a model label and score an answer", async () => {
  const labels = { ...judge, type: "label_model", labels: ["a", "b"], passing_labels: ["a", "b"] };
  const labelled = await run(labels);
  assert.deepEqual([labelled.reward, labelled.metadata.errors.model_grader_parse_error], [1, false]);
  const tokens = labelled.model_grader_token_usage_per_model["hone-tiny"];
  assert.ok(typeof tokens === "number" && tokens > 0 && tokens === labelled.metadata.token_usage);
  const sampling_params = { max_completions_tokens: 64, temperature: 0 };
  const scored = await run({ ...judge, type: "score_model", range: [-1e9, 1e9], sampling_params });
  assert.ok(scored.metadata.errors.model_grader_parse_error || Number.isFinite(scored.reward));
  const judgeAway = run({ ...judge, model: "gpt-4o", type: "score_model" });
  await assert.rejects(judgeAway, (error: NotFoundError) => {
    assert.deepEqual([error instanceof NotFoundError, error.param], [true, "grader.model"]);
    return true;
  });
});

test("validates a grader, and names the fault of one that it refuses", async () => {
  const { grader } = await openai.fineTuning.alpha.graders.validate({ grader: exact });
  assert.deepEqual(grader, exact);
  const refused: readonly (readonly [object, string, RegExp])[] = [
    [{ type: "python", name: "p", source: "" }, "grader.type", /"python" is not supported/],
    [{ ...similar, evaluation_metric: "meteor" }, "grader.evaluation_metric", /needs WordNet/i],
    [{ ...exact, operation: "is" }, "grader.operation", /eq/],
    [{ ...exact, input: "{{ other.x }}" }, "grader.input", /no variable "other.x"/],
    [
      { type: "multi", name: "m", graders: { exact }, calculate_output: "exacct" },
      "grader.calculate_output",
      /the graders are exact/,
    ],
    [
      { type: "multi", name: "m", graders: { a: { ...exact, type: "regex" } }, calculate_output: "a" },
      "grader.graders.a.type",
      /must be string_check/,
    ],
    [
      { ...judge, type: "label_model", labels: ["a"], passing_labels: ["b"] },
      "grader.passing_labels",
      /not among the labels/,
    ],
    [
      { ...judge, type: "score_model", input: [{ role: "user", content: [{ type: "input_image" }] }] },
      "grader.input.0.content.0.text",
      /Only text/,
    ],
  ];
  for (const [wrong, param, message] of refused)
    await assert.rejects(
      openai.fineTuning.alpha.graders.validate({ grader: wrong as Grader }),
      (error: UnprocessableEntityError) => {
        assert.deepEqual([error.param, message.test(error.message)], [param, true], error.message);
        return true;
      },
    );
});
