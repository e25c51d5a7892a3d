// Tests models in GGUF files against the Hugging Face folders they were made from (test/fixtures/gguf/make-models.py).
import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { searchedOf } from "../../base/domain/testing/search.ts";
import { ensureGgufFolder, findGgufFolder } from "../../lib/model-files/gguf/gguf-model.ts";
import { readGguf } from "../../lib/model-files/gguf/gguf-file.ts";
import { readFloats, type StoredTensor, type StoredType } from "../../lib/model-files/stored-tensor.ts";
import { type WrittenValue, writeGguf } from "../../lib/model-files/testing/write-gguf.ts";
import { readStoredTensors } from "../../lib/model-files/weight-files.ts";
import type { WeightSource } from "../../lib/graph/weight-source.ts";
import { readModelConfig } from "./config/read-config.ts";
import { baseHashes } from "./hashes/base-hashes.ts";
import { modelParameters } from "./parameters.ts";
import { inverseFrequencies } from "./rotary.ts";
import { readModelWeights } from "./weights.ts";

const fixtures = "test/fixtures/gguf";
const goldens = "test/fixtures/goldens/models";
const scratch = mkdtempSync(join(tmpdir(), "hone-gguf-models-"));
after(() => rmSync(scratch, { recursive: true }));

const ggufFolder = (name: string): string => ensureGgufFolder(join(fixtures, `${name}.gguf`), scratch);

const names = [
  "llama3-rope",
  "qwen2",
  "qwen3",
  "gemma3",
  "granite",
  "smollm3",
  "olmo2",
  "phi3",
  "phi3-sliding",
];

/** Writes the model `name`.gguf again, with the same numbers, but each tensor in the type that `typeFor` returns. */
function rewritten(name: string, variant: string, typeFor: (tensor: StoredTensor) => StoredType): string {
  const { metadata, tensors } = readGguf(join(fixtures, `${name}.gguf`));
  const file = join(scratch, `${name}-${variant}.gguf`);
  writeGguf(file, {
    metadata: Object.fromEntries<WrittenValue>(metadata),
    tensors: [...tensors.values()].map((tensor) => ({
      name: tensor.name,
      shape: tensor.shape,
      type: typeFor(tensor),
      data: readFloats(tensor),
    })),
  });
  return file;
}

function valuesOf(source: WeightSource<"float32">, size: number): Float32Array {
  if ("data" in source) return source.data;
  const bytes = readFileSync(source.file).subarray(source.offset, source.offset + 4 * size);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

for (const name of searchedOf(names, 4))
  test(`${name} computes with the same weights from a file of float32, of bfloat16 and of both`, () => {
    const folder = join(goldens, name);
    const config = readModelConfig(folder);
    const wanted = readModelWeights(folder, config, { cacheFolder: null });
    const types: Readonly<Record<string, (tensor: StoredTensor) => StoredType>> = {
      float32: () => "F32",
      bfloat16: ({ shape }) => (shape.length === 1 ? "F32" : "BF16"),
      mixed: (tensor) => (tensor.name === "token_embd.weight" ? "BF16" : "F32"),
    };
    for (const [variant, typeFor] of Object.entries(types)) {
      for (const memoryBytesMax of [0, undefined]) {
        const ours = ensureGgufFolder(rewritten(name, variant, typeFor), join(scratch, `kept-${variant}`));
        const cacheFolder = join(scratch, "weights");
        const weights = readModelWeights(ours, config, { cacheFolder, memoryBytesMax });
        for (const { name: parameter, shape } of modelParameters(config)) {
          const size = shape.reduce((product, length) => product * length, 1);
          const [found, right] = [weights.get(parameter)!, wanted.get(parameter)!];
          assert.deepEqual(valuesOf(found, size), valuesOf(right, size), `${parameter}, ${variant}`);
        }
      }
    }
  });

for (const name of names) {
  test(`${name} is the same model in a GGUF file: configuration, and every weight`, () => {
    const [ours, theirs] = [ggufFolder(name), join(goldens, name)];
    const { rotaries, ...config } = readModelConfig(ours);
    const { rotaries: wantedRotaries, ...wanted } = readModelConfig(theirs);
    assert.deepEqual({ ...config, endOfTextIds: [] }, { ...wanted, endOfTextIds: [] });
    assert.equal(config.endOfTextIds[0], wanted.endOfTextIds[0]);
    for (const [index, rotary] of wantedRotaries.entries()) {
      const frequencies = inverseFrequencies(rotaries[index], config.rotarySize);
      for (const [pair, frequency] of inverseFrequencies(rotary, config.rotarySize).entries()) {
        assert.ok(Math.abs(frequencies[pair] / frequency - 1) < 1e-6, `pair ${pair}`);
      }
    }
    const [tensors, expected] = [readStoredTensors(ours), readStoredTensors(theirs)];
    assert.deepEqual([...tensors.keys()].sort(), [...expected.keys()].sort());
    for (const [tensor, stored] of tensors) {
      assert.deepEqual(readFloats(stored), readFloats(expected.get(tensor)!), tensor);
    }
    // Reading also checks that the file has exactly the tensors that the graphs need.
    readModelWeights(ours, { ...config, rotaries }, { cacheFolder: null });
  });
}

test("special tokens that the file does not name are absent from the configuration, despite the family's defaults", () => {
  const config = JSON.parse(readFileSync(join(ggufFolder("smollm3"), "config.json"), "utf8")) as object;
  assert.deepEqual({ ...config, bos_token_id: null, eos_token_id: 2, pad_token_id: null }, config);
});

test("a folder is made once per file, and again when the file has changed", async () => {
  const cache = join(scratch, "cache");
  const file = join(scratch, "changing.gguf");
  copyFileSync(join(fixtures, "qwen2.gguf"), file);
  assert.equal(findGgufFolder(file, cache), null);
  const first = ensureGgufFolder(file, cache);
  assert.equal(findGgufFolder(file, cache), first);
  const hashes = await baseHashes(first, join(scratch, "hashes"));
  assert.equal(ensureGgufFolder(file, cache), first);
  appendFileSync(file, Buffer.alloc(32));
  const second = ensureGgufFolder(file, cache);
  assert.notEqual(second, first);
  assert.deepEqual(readdirSync(cache), [second.slice(cache.length + 1)]);
  assert.notEqual((await baseHashes(second, join(scratch, "hashes"))).weights, hashes.weights);
});

test("tensor offsets are those in the file, even if it changes after the folder was made", () => {
  const file = join(scratch, "places.gguf");
  copyFileSync(join(fixtures, "qwen3.gguf"), file);
  const folder = ensureGgufFolder(file, join(scratch, "places"));
  const places = readStoredTensors(folder);
  const inFile = readGguf(file).tensors;
  for (const { offset, byteLength, type } of inFile.values()) {
    const found = [...places.values()].find((tensor) => tensor.offset === offset);
    assert.deepEqual([found?.byteLength, found?.type, found?.file], [byteLength, type, file]);
  }
  assert.equal(places.size, inFile.size);
  // The same model with a longer description, which moves all tensors to later offsets in the file.
  copyFileSync(join(fixtures, "phi3.gguf"), file);
  assert.ok(readStoredTensors(folder).has("model.layers.0.self_attn.qkv_proj.weight"));
});

test("a model has the same hashes wherever its file is", async () => {
  const moved = join(scratch, "moved", "qwen2.gguf");
  const [one, other] = [ggufFolder("qwen2"), join(scratch, "elsewhere")];
  copyFileSync(join(fixtures, "qwen2.gguf"), join(scratch, "qwen2.gguf"));
  const there = ensureGgufFolder(join(scratch, "qwen2.gguf"), other);
  assert.deepEqual(await baseHashes(one, join(scratch, "a")), await baseHashes(there, join(scratch, "b")));
  assert.throws(() => ensureGgufFolder(moved, other), {
    code: "not_found",
    message: /no file .*qwen2\.gguf/,
  });
});
