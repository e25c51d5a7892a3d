// Tests that exported GGUF files equal, byte for byte, those that llama.cpp's converters and quantizer write from the
// same folders (test/fixtures/gguf/record-exports.py).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { chosenTypes } from "../../../lib/model-files/gguf/writing/written-types.ts";
import { planExport, type ExportPlanRequest } from "./plan-export.ts";
import { fileBytes } from "./testing/planned-bytes.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-plan-gguf-"));
after(() => rmSync(scratch, { recursive: true }));

const goldens = "test/fixtures/goldens/models";
/** Safe cast: the recorder writes these hashes, by model and by number type. */
const recorded = JSON.parse(readFileSync("test/fixtures/gguf/exports.json", "utf8")) as Readonly<
  Record<string, Readonly<Record<string, string>>>
>;

/** Returns the files of an export by their names. */
async function exported(
  request: Pick<ExportPlanRequest, "baseFolder"> & Partial<ExportPlanRequest>,
): Promise<ReadonlyMap<string, Buffer>> {
  const plan = await planExport({
    format: "gguf",
    adapterFolder: null,
    adapterHash: null,
    name: "name",
    chosenType: null,
    ...request,
  });
  return new Map(plan.map((file) => [file.name, fileBytes(file)]));
}

async function modelFile(...wanted: Parameters<typeof exported>): Promise<Buffer> {
  return present((await exported(...wanted)).get("model.gguf"), "a model file");
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function folderOf(name: string): string {
  return join(goldens, name);
}

const adapters = {
  // The converter derives the name of the model from the name of the folder.
  "llama-adapter": { base: "llama", folder: "test/fixtures/gguf/llama-adapter", name: "Llama Adapter" },
  "phi3-adapter": { base: "phi3", folder: "test/fixtures/goldens/phi3-adapter", name: "Phi3 Adapter" },
};

const plain = Object.entries(recorded).filter(([name]) => !Object.hasOwn(adapters, name));
for (const [name, hashes] of searchedOf(plain, 6)) {
  test(`writes ${name} as llama.cpp's converter and quantizer do`, async () => {
    const baseFolder = folderOf(name);
    const own: Record<string, string> = {};
    for (const chosenType of chosenTypes)
      own[chosenType.toLowerCase()] = hashOf(await modelFile({ baseFolder, chosenType }));
    assert.deepEqual(own, { ...hashes });
  });
}

for (const [id, { base, folder, name }] of Object.entries(adapters))
  test(`writes the adapter ${id} as llama.cpp's converter does`, async () => {
    const baseFolder = join(goldens, base);
    const files = await exported({ format: "gguf-adapter", baseFolder, adapterFolder: folder, name });
    assert.equal(hashOf(present(files.get("adapter.gguf"), "an adapter")), recorded[id]["f32"]);
    assert.match(String(files.get("Modelfile")), /^FROM \.\/model\.gguf\nADAPTER \.\/adapter\.gguf\n/);
  });

test("keeps the number type of a folder's weights unless another is chosen", async () => {
  const file = await modelFile({ baseFolder: folderOf("llama") });
  assert.equal(hashOf(file), recorded["llama"]["bf16"]);
});

/** Returns the folder of a GGUF file, as a server derives it. */
function servedGguf(file: string): string {
  return ensureGgufFolder(file, join(scratch, "served"));
}

test("copies a base model that is a GGUF file, and merges an adapter into its rows", async () => {
  const file = join(scratch, "base.gguf");
  writeFileSync(file, await modelFile({ baseFolder: folderOf("llama"), chosenType: "F32" }));
  const baseFolder = servedGguf(file);
  assert.deepEqual(await modelFile({ baseFolder }), readFileSync(file));
  const adapterFolder = adapters["llama-adapter"].folder;
  const merged = await modelFile({ baseFolder, adapterFolder });
  const fromFolder = await modelFile({ baseFolder: folderOf("llama"), adapterFolder, chosenType: "F32" });
  assert.notDeepEqual(merged, readFileSync(file));
  assert.deepEqual(tensorsIn(merged), tensorsIn(fromFolder));
  const requantized = await modelFile({ baseFolder, chosenType: "Q8_0" });
  assert.equal(hashOf(requantized), recorded["llama"]["q8_0"]);
});

test("stores quantized weights as float16 if an adapter changes them, and keeps the others", async () => {
  const file = join(scratch, "quantized.gguf");
  writeFileSync(file, await modelFile({ baseFolder: folderOf("llama"), chosenType: "Q8_0" }));
  const merged = await modelFile({
    baseFolder: servedGguf(file),
    adapterFolder: adapters["llama-adapter"].folder,
  });
  const types = new Map([...tensorsIn(merged)].map(([name, { type }]) => [name, type]));
  assert.equal(types.get("blk.0.attn_q.weight"), "F16");
  assert.equal(types.get("blk.0.attn_v.weight"), "Q8_0");
  assert.equal(types.get("output_norm.weight"), "F32");
});

/** Returns the tensors of a file by their names, with a hash of their bytes. */
function tensorsIn(bytes: Buffer) {
  const file = join(scratch, "read.gguf");
  writeFileSync(file, bytes);
  return new Map(
    [...readGguf(file).tensors].map(([name, { type, shape, offset, byteLength }]) => [
      name,
      { type, shape, hash: hashOf(bytes.subarray(offset, offset + byteLength)) },
    ]),
  );
}

test("writes a mixture of experts, and biases of the feed-forward part, as its readers expect them", async () => {
  const sums = join(scratch, "experts");
  cpSync(folderOf("qwen3-moe-sums"), sums, { recursive: true });
  const config = JSON.parse(readFileSync(join(sums, "config.json"), "utf8")) as object;
  // Only the second layer of this model has experts; in llama.cpp, all layers have them.
  writeFileSync(
    join(sums, "config.json"),
    JSON.stringify({ ...config, num_hidden_layers: 1, decoder_sparse_step: 1, norm_topk_prob: true }),
  );
  const weights = join(sums, "model.safetensors");
  const kept = [...readSafetensorsHeader(weights).tensors].flatMap(([name, tensor]) => {
    const own = name.replace(".layers.1.", ".layers.0.");
    return name.includes(".layers.0.") ? [] : [{ name: own, shape: tensor.shape, data: readFloats(tensor) }];
  });
  writeSafetensors(weights, kept, { type: "F32" });
  for (const baseFolder of [sums, folderOf("llama-biases")]) {
    const file = join(scratch, "written.gguf");
    writeFileSync(file, await modelFile({ baseFolder, chosenType: "F32" }));
    const served = ensureGgufFolder(file, mkdtempSync(join(scratch, "served-")));
    const [read, own] = [served, baseFolder].map(readModelConfig);
    assert.deepEqual({ ...read, endOfTextIds: [] }, { ...own, endOfTextIds: [] });
    const options = { cacheFolder: null };
    const [copied, given] = [
      readModelWeights(served, read, options),
      readModelWeights(baseFolder, own, options),
    ];
    assert.deepEqual([...copied.keys()].toSorted(), [...given.keys()].toSorted());
  }
});

test("refuses a model class, and a setting that files do not express, by name", async () => {
  await assert.rejects(exported({ baseFolder: join(goldens, "gemma4") }), {
    code: "unsupported",
    message: /^Models of the class Gemma4ForCausalLM are not exported as GGUF/,
  });
  // Every second layer of this model has full attention, and files of Gemma 3 do not record which layers have it.
  await assert.rejects(exported({ baseFolder: join(goldens, "gemma3") }), {
    code: "unsupported",
    message: /cannot express these settings of the model: layers/,
  });
});

test("refuses a tokenizer without tokens for bytes", async () => {
  const folder = join(scratch, "pieces");
  cpSync(folderOf("llama"), folder, { recursive: true });
  const file = join(folder, "tokenizer.json");
  const tokenizer = JSON.parse(readFileSync(file, "utf8"));
  const pieces = { ...tokenizer, pre_tokenizer: { type: "Metaspace" }, decoder: { type: "Metaspace" } };
  writeFileSync(file, JSON.stringify(pieces));
  await assert.rejects(exported({ baseFolder: folder }), {
    code: "unsupported",
    message: /neither byte-level nor one of SentencePiece/,
  });
});

test("describes the built-in model's tokenizer, which llama.cpp splits texts for only nearly, as a whole too", async () => {
  const file = join(scratch, "tiny.gguf");
  writeFileSync(file, await modelFile({ baseFolder: "models/hone-tiny" }));
  const own: unknown = JSON.parse(readFileSync("models/hone-tiny/tokenizer.json", "utf8"));
  const read: unknown = JSON.parse(readFileSync(join(servedGguf(file), "tokenizer.json"), "utf8"));
  assert.deepEqual(read, own);
  const { metadata } = readGguf(file);
  assert.equal(metadata.get("tokenizer.ggml.pre"), "llama-bpe");
  assert.equal(metadata.get("tokenizer.ggml.add_bos_token"), false);
});

test("writes a Modelfile with the parameters and the turns of the model", async () => {
  const text = String((await exported({ baseFolder: "models/hone-tiny" })).get("Modelfile"));
  assert.match(text, /^FROM \.\/model\.gguf\nTEMPLATE """/);
  assert.match(text, /<\|im_start\|>system\n\{\{ \.System \}\}<\|im_end\|>\n/);
  assert.match(text, /"""\nPARAMETER stop "<\|im_end\|>"\nPARAMETER temperature 1\nPARAMETER top_p 1\n$/);
});
