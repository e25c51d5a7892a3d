// Tests models whose forward pass overflows: a base model, and an adapter whose matrices are each within bounds. Every
// request for such a model fails with an error that contains the model's name. Other requests to the same engine are
// not affected.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { readSafetensorsFolder, readSafetensorsHeader } from "../src/lib/model-files/safetensors.ts";
import { readFloats, type StoredTensor } from "../src/lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../src/lib/model-files/write-safetensors.ts";
import { call, serverOfFile } from "./running-server.ts";
import { goldenModel } from "./served-jobs.ts";

const base = "test/fixtures/goldens/models/qwen3";
const ownAdapter = "test/fixtures/goldens/training/adapter";
const scratch = mkdtempSync(join(tmpdir(), "hone-broken-scores-"));
after(() => rmSync(scratch, { recursive: true }));

type Change = (name: string, values: Float32Array) => Float32Array;

/** Returns a copy of the folder with changed numbers in its safetensors file. */
function changed(folder: string, file: string, change: Change): string {
  const copy = mkdtempSync(join(scratch, "copy-"));
  cpSync(folder, copy, { recursive: true });
  const stored: ReadonlyMap<string, StoredTensor> =
    file === "model.safetensors"
      ? readSafetensorsFolder(folder)
      : readSafetensorsHeader(join(folder, file)).tensors;
  const tensors = [...stored.values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: change(tensor.name, readFloats(tensor)),
  }));
  writeSafetensors(join(copy, file), tensors, { type: "F32" });
  return copy;
}

const brokenBase = changed(base, "model.safetensors", (name, values) =>
  name === "model.norm.weight" ? values.fill(3e38) : values,
);
const server = serverOfFile({ flags: [...goldenModel, "--model", `broken=${brokenBase}`] });
const run = commandProcess();

const adapter = (change: Change): string => changed(ownAdapter, "adapter_model.safetensors", change);

async function importAs(name: string, folder: string) {
  const { url, apiKey } = server();
  return run(["models", "import", folder, "--name", name, "--base-model", "tiny"], {
    environment: { HONE_URL: url, HONE_API_KEY: apiKey },
  });
}

const chat = (model: string, body: object = {}) =>
  call(server(), "POST", "/v1/chat/completions", {
    body: {
      model,
      messages: [{ role: "user", content: "hello" }],
      max_tokens: 8,
      temperature: 0,
      logprobs: true,
      ...body,
    },
  });

test("the import of an adapter that overflows is refused, and an ordinary adapter with large numbers works", async () => {
  const all = await importAs(
    "p/all",
    adapter((_, values) => values.fill(3e38)),
  );
  assert.notEqual(all.status, 0);
  assert.match(all.errors, /lora_A\.weight is too large for float32: .* at most .* is allowed/);
  const alpha = mkdtempSync(join(scratch, "alpha-"));
  cpSync(ownAdapter, alpha, { recursive: true });
  writeFileSync(
    join(alpha, "adapter_config.json"),
    JSON.stringify({ peft_type: "LORA", r: 4, lora_alpha: 1e308 }),
  );
  assert.match((await importAs("p/alpha", alpha)).errors, /has the scale 2\.5e\+307/);
  const large = await importAs(
    "p/large",
    adapter((_, values) => values.fill(1e3)),
  );
  assert.equal(large.status, 0, large.errors);
  const answer = await chat("p/large");
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
});

test("a model whose logits are not finite is refused by name, without affecting other computations", async () => {
  const before = (await chat("tiny")).body.choices;
  // Each matrix product is within bounds. The product of gate and up then overflows in the adapter's next matrix.
  const chained = adapter((name, values) => {
    const isA = name.includes("lora_A");
    if (name.includes("down_proj")) return values.fill(isA ? 1e31 : 1e-21);
    return name.includes("gate_proj") || name.includes("up_proj") ? values.fill(isA ? 1 : 1e11) : values;
  });
  const imported = await importAs("p/chained", chained);
  assert.equal(imported.status, 0, imported.errors);
  for (const model of ["broken", "p/chained"]) {
    for (const options of [
      {},
      { logprobs: false },
      { n: 3, temperature: 1, seed: 1 },
      { prompt_logprobs: 1 },
    ]) {
      const { status, body } = await chat(model, options);
      assert.equal(status, 400, JSON.stringify(body));
      const [{ loc, msg }] = body.detail;
      assert.deepEqual(loc, ["body", "model"]);
      assert.match(msg, new RegExp(`^The model "${model}" computed numbers that are not finite`));
      assert.equal(body.error.code, "unsupported");
    }
    const embedding = await call(server(), "POST", "/v1/embeddings", { body: { model, input: "hello" } });
    assert.equal(embedding.status, 400, JSON.stringify(embedding.body));
    assert.match(embedding.body.error.message, new RegExp(`The model "${model}"`));
  }
  // These requests run in the same steps as the request that overflows, and reuse that request's memory.
  const together = await Promise.all(
    Array.from({ length: 12 }, (_, index) => chat(index % 2 === 0 ? "tiny" : "p/chained")),
  );
  for (const [index, { status, body }] of together.entries()) {
    assert.equal(status, index % 2 === 0 ? 200 : 400);
    if (status === 200) assert.deepEqual(body.choices, before);
  }
  assert.deepEqual((await chat("tiny")).body.choices, before);
});
