// Tests exporting a trained version and importing it again. It is exported as a merged model, which a server serves as
// a base, and as an adapter. Log-probabilities stay the same up to the precision of the formats.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { Hone } from "../src/apps/client/hone.ts";
import { readSafetensorsFolder } from "../src/lib/model-files/safetensors.ts";
import { readFloats } from "../src/lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../src/lib/model-files/write-safetensors.ts";
import {
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
  type RunningServer,
} from "./running-server.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-exported-"));
after(() => rmSync(scratch, { recursive: true }));

/** Returns the folder of a small model in float32. Rounding to 16 bits could hide the changes of a merge. */
function baseInFloat32(): string {
  const source = "test/fixtures/small-model";
  const folder = join(scratch, "base");
  cpSync(source, folder, { recursive: true });
  const tensors = [...readSafetensorsFolder(source).values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: readFloats(tensor),
  }));
  writeSafetensors(join(folder, "model.safetensors"), tensors, { type: "F32" });
  return folder;
}

const base = baseInFloat32();
const flags = ["--built-in-model", "off", "--engine-threads", "1"];
/** A base with fused projections from a GGUF file. A file with 4-bit weights would do as well. */
const ggufBase = "gguf=test/fixtures/gguf/phi3.gguf";
const server = serverOfFile({ flags: [...flags, "--model", `base=${base}`, "--model", ggufBase] });

const question = { role: "user", content: "tell me a story about the sea" };

/** Returns a greedy answer with the log-probabilities of its tokens. */
async function answerOf({ url, apiKey }: RunningServer, model: string) {
  const client = new Hone({ baseUrl: url, apiKey });
  const body = { model, messages: [question], max_tokens: 24, temperature: 0, logprobs: true };
  const { choices } = await client.chat.create({ ...body, return_token_ids: true });
  const [{ token_ids: ids, logprobs }] = choices;
  return { ids, logprobs: (logprobs?.content ?? []).map(({ logprob }) => logprob) };
}

const run = commandProcess();

async function hone(...words: readonly string[]): Promise<string> {
  const { url, apiKey } = server();
  const { output, errors, status } = await run(words, {
    environment: { HONE_URL: url, HONE_API_KEY: apiKey },
  });
  assert.equal(status, 0, errors);
  return output;
}

/** Trains `p/m` to version 1 on the first call. */
let training: Promise<number | null> | undefined;
const trained = (): Promise<number | null> => (training ??= train("p/m"));

/** Trains a model by one step. Registers the model first if it is new. Returns the number of the new version. */
async function train(name: string, base = "base"): Promise<number | null> {
  const { url, apiKey } = server();
  const client = new Hone({ baseUrl: url, apiKey });
  const model = await client.model(name, { base });
  const { choices } = await client.chat.create({
    model: base === "base" ? "p/m" : name,
    messages: [question],
    n: 4,
    seed: 1,
    temperature: 1.2,
    max_tokens: 16,
  });
  const trajectories = choices.map((choice, index) => ({
    messages_and_choices: [question, choice],
    reward: index,
  }));
  const { id: jobId } = await client.jobs.create({
    model_id: model.id,
    trajectory_groups: [{ trajectories }],
    experimental_config: { learning_rate: 0.003 },
  });
  return (await client.jobs.wait(jobId)).result_step;
}

test("a merged model served as a base, as a folder or a GGUF file, gives the same answers as the version", async () => {
  await trained();
  const merged = join(scratch, "merged");
  assert.match(
    await hone("models", "export", "p/m", "--format", "merged", "--out", merged),
    /^wrote version 1 of /,
  );
  assert.deepEqual(readdirSync(scratch).sort(), ["base", "merged"]);
  const file = join(scratch, "file");
  await hone("models", "export", "p/m", "--format", "gguf", "--out", file);
  assert.deepEqual(readdirSync(file).sort(), ["Modelfile", "model.gguf"]);
  assert.equal(await train("p/g", "gguf"), 1);
  const mergedGguf = join(scratch, "merged-gguf");
  await hone("models", "export", "p/g", "--format", "merged", "--out", mergedGguf);
  const dataFolder = newDataFolder();
  const models = [`merged=${merged}`, `file=${join(file, "model.gguf")}`, `merged-gguf=${mergedGguf}`];
  const other = await startServer({
    dataFolder,
    flags: [...flags, ...models.flatMap((name) => ["--model", name])],
  });
  try {
    const [ofBase, ofVersion] = [await answerOf(server(), "base"), await answerOf(server(), "p/m:step1")];
    assert.notDeepEqual(ofVersion.logprobs, ofBase.logprobs, "training changed something");
    for (const name of ["merged", "file"]) {
      const ofMerged = await answerOf(other, name);
      assert.deepEqual(ofMerged.ids, ofVersion.ids, name);
      ofMerged.logprobs.forEach((logprob, index) => {
        const wanted = ofVersion.logprobs[index] ?? NaN;
        assert.ok(Math.abs(logprob - wanted) < 1e-4, `${name} ${index}: ${logprob}`);
      });
    }
    const [ofGguf, wanted] = [await answerOf(other, "merged-gguf"), await answerOf(server(), "p/g:step1")];
    // Compares only the first token. Its log-probability may differ slightly, and later tokens may differ, because the
    // trained weights are rounded to 16 bits.
    assert.equal(ofGguf.ids?.[0], wanted.ids?.[0]);
    const difference = Math.abs(ofGguf.logprobs[0] - wanted.logprobs[0]);
    assert.ok(difference < 0.05, `${ofGguf.logprobs[0]}, and ${wanted.logprobs[0]} of the version`);
  } finally {
    await other.terminate();
    removeDataFolder(dataFolder);
  }
});

test("an exported adapter can be imported as a version of another model with the same answers, and trained further", async () => {
  await trained();
  const folder = join(scratch, "peft");
  await hone("models", "export", "p/m:step1", "--out", folder);
  assert.deepEqual(readdirSync(folder).sort(), ["adapter_config.json", "adapter_model.safetensors"]);
  const imported = await hone("models", "import", folder, "--name", "p/back", "--base-model", "base");
  assert.equal(imported, "imported local/p/back:step1\n");
  const before = await answerOf(server(), "p/m:step1");
  assert.deepEqual(await answerOf(server(), "p/back"), before);
  assert.equal(await train("p/back"), 2);
  assert.notDeepEqual(await answerOf(server(), "p/back"), before);
  assert.deepEqual(await answerOf(server(), "p/back:step1"), before);
});

test("an option of the export that its format does not have is refused by name", async () => {
  await trained();
  const { url, apiKey } = server();
  const client = new Hone({ baseUrl: url, apiKey });
  const [{ id }] = await client.models.list({ project: "p", name: "m" }).all();
  await assert.rejects(client.checkpoints.export(id, 1, { format: "merged", quantize: "q8_0" }), {
    status: 422,
    message: /quantize applies only to gguf/,
  });
  await assert.rejects(client.checkpoints.export(id, 0, "gguf-adapter"), {
    status: 400,
    message: /Version 0 is the base model itself/,
  });
});

test("with a GGUF base, a version can be trained, exported as an adapter, and imported again", async () => {
  assert.equal(await train("p/fused", "gguf"), 1);
  const [ofBase, ofVersion] = [await answerOf(server(), "gguf"), await answerOf(server(), "p/fused:step1")];
  assert.notDeepEqual(ofVersion.logprobs, ofBase.logprobs, "training changed something");

  const adapter = join(scratch, "fused");
  await hone("models", "export", "p/fused", "--out", adapter);
  const { r, target_modules: modules } = JSON.parse(
    readFileSync(join(adapter, "adapter_config.json"), "utf8"),
  ) as { readonly r: number; readonly target_modules: readonly string[] };
  assert.deepEqual(modules, ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]);
  assert.equal(r % 3, 0);
  await hone("models", "import", adapter, "--name", "p/gback", "--base-model", "gguf");
  assert.deepEqual(await answerOf(server(), "p/gback"), ofVersion);
  assert.equal(await train("p/gback", "gguf"), 2);
});

test("a request ends on the version it began with, and after a deletion the name refers to the newest remaining version", async () => {
  await trained();
  await train("p/m");
  const { url, apiKey } = server();
  const client = new Hone({ baseUrl: url, apiKey });
  const [{ id }] = await client.models.list({ project: "p", name: "m" }).all();
  const before = await answerOf(server(), "p/m:step1");
  const body = { model: "p/m", messages: [question], max_tokens: 24, temperature: 0 };
  const whole = (await client.chat.create(body)).choices[0]?.message.content;
  let text = "";
  let deletion: Awaited<ReturnType<typeof client.checkpoints.delete>> | undefined;
  for await (const { choices } of client.chat.stream(body)) {
    deletion ??= await client.checkpoints.delete(id, [0, 2]);
    text += choices[0]?.delta.content ?? "";
  }
  assert.deepEqual([deletion?.deleted_count, text], [2, whole]);
  assert.deepEqual(await answerOf(server(), "p/m"), before);
  await assert.rejects(client.chat.create({ ...body, model: "p/m:step2" }), /no such version/);
  assert.ok((await client.chat.create({ ...body, model: "p/m:step0" })).choices.length > 0);
  assert.equal(await train("p/m"), 3, "a step is used once");
});

test("a model's adapters use the projections given at its registration, but an imported adapter keeps its own", async () => {
  await trained();
  await hone("models", "create", "p", "two", "--base-model", "base", "--target-modules", "v_proj,q_proj");
  await train("p/two");
  const { targets, modules } = await exported("p/two:step1", "two");
  assert.deepEqual(
    [targets, modules],
    [
      ["q_proj", "v_proj"],
      ["self_attn.q_proj", "self_attn.v_proj"],
    ],
  );
  await hone("models", "create", "p", "down", "--base-model", "base", "--target-modules", "down_proj");
  await hone("models", "import", join(scratch, "two"), "--name", "p/down");
  assert.equal(await train("p/down"), 2);
  assert.deepEqual(await exported("p/down:step2", "down"), { targets, modules });
  await train("p/down-anew");
  assert.equal((await exported("p/down-anew:step1", "anew")).modules.length, 7);
});

/**
 * Returns the target modules in the adapter_config.json of a version's PEFT folder, and the modules that have matrices
 * in its weight file.
 */
async function exported(
  name: string,
  to: string,
): Promise<{ readonly targets: unknown; readonly modules: readonly string[] }> {
  const folder = join(scratch, to);
  await hone("models", "export", name, "--out", folder);
  const config = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8"));
  const file = readFileSync(join(folder, "adapter_model.safetensors"));
  const header = JSON.parse(file.subarray(8, 8 + Number(file.readBigUInt64LE(0))).toString());
  const named = Object.keys(header).flatMap((key) => /layers\.0\.(.*)\.lora_B/.exec(key)?.[1] ?? []);
  return { targets: config.target_modules, modules: named.sort() };
}
