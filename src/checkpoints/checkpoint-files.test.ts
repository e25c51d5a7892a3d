// A version's files: its PEFT folder byte for byte, and a model with the adapter in its weights, against the formula.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readModelConfig } from "../model/config/read-config.ts";
import { loraNames, loraProjections } from "../model/parameters.ts";
import { readLoraAdapter } from "../model/peft-folder.ts";
import { readFloats, readSafetensorsFolder } from "../model/safetensors.ts";
import { storedBytes, writeSafetensors } from "../model/write-safetensors.ts";
import { sampleModel, sampleVersion } from "../storage/contract/storage-under-test.ts";
import { CheckpointFiles } from "./checkpoint-files.ts";

const base = "test/fixtures/goldens/models/qwen3";
const adapterFolder = "test/fixtures/goldens/training/adapter";
const config = readModelConfig(base);
const scratch = mkdtempSync(join(tmpdir(), "hone-checkpoints-"));
after(() => rmSync(scratch, { recursive: true }));

const model = sampleModel("m");
const version = sampleVersion("m", 1, { adapterFolder: "." });

/** The files of a version over a base, as they would be read by whoever asked. */
async function exported(baseFolder: string, format: "peft" | "merged", isBase = false) {
  const files = new CheckpointFiles({
    baseFolders: new Map([["tiny", baseFolder]]),
    dataFolder: adapterFolder,
  });
  try {
    const found = await files.export(model, isBase ? sampleVersion("m", 0) : version, format);
    const contents = new Map<string, Buffer>();
    for (const { name, byteCount, pieces } of found) {
      const bytes: Uint8Array[] = [];
      for await (const piece of pieces()) {
        assert.deepEqual([...files.adaptersInUse()], isBase ? [] : ["m:1"]);
        bytes.push(piece);
      }
      contents.set(name, Buffer.concat(bytes));
      assert.equal(contents.get(name)?.length, byteCount, name);
    }
    assert.deepEqual([...files.adaptersInUse()], []);
    return contents;
  } finally {
    await files.close();
  }
}

/** The base with weights in another type, in one file or in two. */
function baseWith(type: "F32" | "BF16", shardCount = 1): string {
  const folder = mkdtempSync(join(scratch, "base-"));
  cpSync(base, folder, { recursive: true });
  const tensors = [...readSafetensorsFolder(base).values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: readFloats(tensor),
  }));
  if (shardCount === 1) writeSafetensors(join(folder, "model.safetensors"), tensors, { type });
  else {
    rmSync(join(folder, "model.safetensors"));
    const shardOf = new Map(
      tensors.map(({ name }, index) => [name, `model-${index % shardCount}.safetensors`]),
    );
    for (const shard of new Set(shardOf.values())) {
      const own = tensors.filter(({ name }) => shardOf.get(name) === shard);
      writeSafetensors(join(folder, shard), own, { type });
    }
    const index = JSON.stringify({ metadata: {}, weight_map: Object.fromEntries(shardOf) });
    writeFileSync(join(folder, "model.safetensors.index.json"), index);
  }
  return folder;
}

/** Compares every weight with W + scale · B A. */
function checkMerged(files: ReadonlyMap<string, Buffer>, baseFolder: string): void {
  const folder = mkdtempSync(join(scratch, "merged-"));
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  const merged = readSafetensorsFolder(folder);
  const before = readSafetensorsFolder(baseFolder);
  const adapter = readLoraAdapter(adapterFolder, config);
  const projections = new Map(
    loraProjections(config, adapter.targets).map((each) => [`${each.path}.weight`, each]),
  );
  assert.deepEqual([...merged.keys()].sort(), [...before.keys()].sort());
  let changedCount = 0;
  for (const [name, tensor] of before) {
    const expected = readFloats(tensor);
    const projection = projections.get(name);
    if (projection !== undefined) {
      const { path, inputSize, outputSize } = projection;
      const a = adapter.matrices.get(loraNames(path).a) ?? [];
      const b = adapter.matrices.get(loraNames(path).b) ?? [];
      for (let row = 0; row < outputSize; row++) {
        for (let column = 0; column < inputSize; column++) {
          let product = 0;
          for (let rank = 0; rank < adapter.rank; rank++)
            product += b[row * adapter.rank + rank] * a[rank * inputSize + column];
          expected[row * inputSize + column] += adapter.scale * product;
        }
      }
      changedCount += 1;
    }
    const found = merged.get(name);
    assert.ok(found !== undefined && found.type === tensor.type);
    assert.deepEqual(
      Buffer.from(storedBytes(readFloats(found), "F32")),
      Buffer.from(roundTrip(expected, tensor.type as "F32" | "BF16")),
      name,
    );
  }
  assert.equal(changedCount, 7 * config.layers.length);
}

function roundTrip(values: Float32Array, type: "F32" | "BF16"): Uint8Array {
  const file = join(mkdtempSync(join(scratch, "round-")), "model.safetensors");
  writeSafetensors(file, [{ name: "x", shape: [values.length], data: values }], { type });
  return storedBytes(readFloats([...readSafetensorsFolder(join(file, "..")).values()][0]), "F32");
}

test("a PEFT folder is exported byte for byte, without what training keeps beside it", async () => {
  const files = await exported(base, "peft");
  assert.deepEqual([...files.keys()], ["adapter_config.json", "adapter_model.safetensors"]);
  for (const [name, bytes] of files) assert.deepEqual(bytes, readFileSync(join(adapterFolder, name)));
});

for (const [what, folder] of [
  ["float32", baseWith("F32")],
  ["bfloat16", baseWith("BF16")],
  ["shards", baseWith("BF16", 2)],
] as const) {
  test(`a merged model of ${what} has W + scale · B A in place of each adapted weight`, async () => {
    checkMerged(await exported(folder, "merged"), folder);
  });
}

test("a merged model has what belongs to the model, and no other weights or hidden files", async () => {
  const folder = baseWith("BF16");
  for (const name of ["README.md", ".secret.json", "adapter_config.json", "pytorch_model.bin", "LICENSE"])
    writeFileSync(join(folder, name), "{}");
  mkdirSync(join(folder, "folder.json"));
  const names = [...(await exported(folder, "merged")).keys()].sort();
  assert.deepEqual(
    names,
    [...readdirSync(base), "LICENSE"].filter((name) => !name.startsWith("golden.safe")).sort(),
  );
});

test("version 0 is exported as the base itself, and has no PEFT folder", async () => {
  const files = await exported(base, "merged", true);
  assert.deepEqual(files.get("model.safetensors"), readFileSync(join(base, "model.safetensors")));
  await assert.rejects(exported(base, "peft", true), { code: "unsupported" });
});

test("what cannot be read is the server's fault, and a base that is not served the setting's", async () => {
  const options = { baseFolders: new Map([["tiny", base]]), dataFolder: scratch };
  const files = new CheckpointFiles(options);
  const lost = sampleVersion("m", 3, { adapterFolder: "nowhere" });
  for (const format of ["peft", "merged"] as const) {
    await assert.rejects(files.export(model, lost, format), (error: Error & { code?: string }) => {
      assert.equal(error.code, "internal");
      assert.doesNotMatch(error.message, /nowhere|hone-checkpoints/);
      return true;
    });
  }
  const strange = sampleModel("n", { baseModel: "huge" });
  await assert.rejects(files.export(strange, version, "merged"), { code: "unsupported" });
  await files.close();
});
