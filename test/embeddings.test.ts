// Tests embeddings over HTTP with the official OpenAI SDK. The SDK requests base64 and decodes it to numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { BadRequestError, NotFoundError, UnprocessableEntityError } from "openai";
import { readModelConfig } from "../src/inference/architectures/config/read-config.ts";
import { call, serverOfFile } from "./running-server.ts";

let openai: OpenAI;
const server = serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

const model = "hone-tiny";
const texts = ["The cat sat on the mat.", "A cat sits on a mat.", "What is the capital of France?"];
const { width } = readModelConfig("models/hone-tiny");

async function embed(
  input: OpenAI.EmbeddingCreateParams["input"],
  more: Partial<OpenAI.EmbeddingCreateParams> = {},
): Promise<readonly (readonly number[])[]> {
  const { data } = await openai.embeddings.create({ model, input, ...more });
  assert.deepEqual(
    data.map(({ index, object }) => [index, object]),
    data.map((_, index) => [index, "embedding"]),
  );
  return data.map(({ embedding }) => embedding);
}

/** Decodes little-endian 32-bit floats. */
function floatsIn(base64: string): readonly number[] {
  const bytes = Buffer.from(base64, "base64");
  return Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(4 * place));
}

function product(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, place) => sum + value * other[place], 0);
}

test("returns unit vectors, equal in both encodings, whether requested one by one or together", async () => {
  const answer = await openai.embeddings.create({ model, input: texts });
  assert.equal(answer.object, "list");
  assert.equal(answer.model, model);
  assert.ok(answer.usage.prompt_tokens > 15 && answer.usage.total_tokens === answer.usage.prompt_tokens);
  const together = answer.data.map(({ embedding }) => embedding);
  for (const vector of together) {
    assert.equal(vector.length, width);
    assert.ok(Math.abs(product(vector, vector) - 1) < 1e-6);
  }
  // If the encoding is set explicitly, the SDK returns the response unchanged.
  const encoded = await openai.embeddings.create({ model, input: texts, encoding_format: "base64" });
  assert.deepEqual(
    encoded.data.map(({ embedding }) => floatsIn(String(embedding))),
    together,
  );
  const spelled = await embed(texts, { encoding_format: "float" });
  assert.deepEqual(
    spelled.map((vector) => vector.map(Math.fround)),
    together,
  );
  const running = openai.chat.completions.create({
    model,
    messages: [{ role: "user", content: "tell me a story" }],
    max_tokens: 60,
  });
  const alone = await Promise.all(texts.map((text) => embed(text)));
  assert.deepEqual(alone.flat(), together);
  await running;
  assert.ok(product(together[0], together[1]) > product(together[0], together[2]));
});

test("token ids get the same embedding as their text", async () => {
  const { body } = await call(server(), "POST", "/tokenize", { body: { prompt: texts[0] } });
  const ids = body.tokens as number[];
  const [ofText] = await embed(texts[0]);
  assert.deepEqual(await embed(ids), [ofText]);
  assert.deepEqual(await embed([ids, ids.slice(1)]), [ofText, (await embed(ids.slice(1)))[0]]);
});

test("fewer dimensions are the first ones, scaled to length 1", async () => {
  const [whole] = await embed(texts[0]);
  const [cut] = await embed(texts[0], { dimensions: 16 });
  const length = Math.sqrt(product(whole.slice(0, 16), whole.slice(0, 16)));
  assert.equal(cut.length, 16);
  cut.forEach((value, place) => assert.ok(Math.abs(value - whole[place] / length) < 1e-6));
});

test("embeds more texts than fit into one step, each the same as on its own", async () => {
  const many = Array.from({ length: 200 }, (_, index) => `text number ${index % 50}`);
  const vectors = await embed(many);
  for (const index of [0, 17, 49]) {
    assert.deepEqual(vectors[index], vectors[index + 50]);
    assert.deepEqual([vectors[index]], await embed(many[index]));
  }
});

test("embeds with a version of a trained model under the version's name", async () => {
  const registered = { project: "p", name: "embedded", base_model: model };
  await call(server(), "POST", "/v1/preview/models", { body: registered });
  const [ofBase] = await embed(texts[0]);
  assert.deepEqual(await embed(texts[0], { model: "p/embedded:step0" }), [ofBase]);
  await assert.rejects(embed(texts[0], { model: "p/embedded:step7" }), NotFoundError);
});

test("refuses input that cannot be embedded, with its location", async () => {
  const refused = async (
    input: unknown,
    more: object,
    kind: typeof BadRequestError | typeof UnprocessableEntityError,
    said: RegExp,
  ) => {
    // Safe cast: tests input that the SDK's types do not allow.
    await assert.rejects(embed(input as string, more), (error: unknown) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, said);
      return true;
    });
  };
  await refused(["a", ""], {}, BadRequestError, /empty/);
  await refused("a", { dimensions: width + 1 }, UnprocessableEntityError, /dimensions is 257.*have 256/);
  await refused("a", { dimensions: 0 }, UnprocessableEntityError, /dimensions/);
  await refused([1, 100_000], {}, BadRequestError, /100000/);
  await refused(Array(2049).fill("a"), {}, UnprocessableEntityError, /2049 inputs; at most 2048/);
  await refused("a ".repeat(20_000), {}, BadRequestError, /maximum context length/);
  await assert.rejects(embed("a", { model: "none" }), NotFoundError);
});

test("counts the texts and their tokens", async () => {
  const metrics = await (await fetch(`${server().url}/metrics`)).text();
  assert.match(metrics, /^hone_embedding_tokens_total\{base="hone-tiny"\} [1-9]/m);
  assert.match(metrics, /^hone_embedding_requests_total\{outcome="completed"\} [1-9]/m);
  assert.match(metrics, /^hone_embedding_requests_total\{outcome="unsupported"\} [1-9]/m);
});
