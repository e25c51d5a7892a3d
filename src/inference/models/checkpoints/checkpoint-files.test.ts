// Tests the files of a version: its PEFT folder must be exported byte for byte, and the merged model must match the
// formula.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { adapterHash } from "../../architectures/hashes/adapter-hash.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraNames, loraProjections } from "../../architectures/parameters.ts";
import { readLoraAdapter } from "../../architectures/peft-folder.ts";
import { readSafetensorsFolder, readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { readStoredTensors } from "../../../lib/model-files/weight-files.ts";
import { storedBytes, writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import {
  sampleModel,
  sampleVersion,
  storeModel,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { CheckpointFiles } from "./checkpoint-files.ts";
import { AdaptersInUse } from "../registry/version-uses.ts";
import { modelSettings, type ModelSettings } from "../registry/settings.ts";
import { exportedType, mergeRows } from "./merge-rows.ts";

const base = "test/fixtures/goldens/models/qwen3";
const adapterFolder = "test/fixtures/goldens/training/adapter";
const config = readModelConfig(base);
const weights = createHash("sha256")
  .update(readFileSync(join(base, "model.safetensors")))
  .digest("hex");
const scratch = mkdtempSync(join(tmpdir(), "hone-checkpoints-"));
after(() => rmSync(scratch, { recursive: true }));

const model = sampleModel("m");
const version = sampleVersion("m", 1, {
  adapterFolder: ".",
  base: null,
  adapterHash: adapterHash(adapterFolder),
});

/**
 * Opens the files of models over the bases, with their store.
 *
 * @param bases folder of each base model, by the model's name
 */
async function openFiles(
  bases: ReadonlyMap<string, string>,
  dataFolder: string,
  settings: Partial<ModelSettings> = {},
) {
  const { models: store } = await storesInMemory();
  const newVersions: string[] = [];
  const prepared: string[] = [];
  const adapters = new AdaptersInUse();
  const files = new CheckpointFiles({
    adapters,
    store,
    clock: new FakeClock(),
    settings: modelSettings.with(settings),
    prepareVersion: async ({ modelId, step }, baseModel) => {
      assert.notEqual(await store.findVersion(modelId, step), null);
      prepared.push(`${modelId}:${step} over ${baseModel}`);
    },
    onNewVersion: async (modelId) => void newVersions.push(modelId),
    baseFolders: bases,
    ...dataFolderAt(dataFolder),
    useVersion: async () => true,
  });
  return { files, adapters, store, newVersions, prepared };
}

/** Folders of the bases over which `exported` has exported versions. Each base has its folder's path as its name. */
const exportedBases = new Map<string, string>();
const exporting = await openFiles(exportedBases, adapterFolder);
after(() => exporting.files.close());

/** Exports a version over a base, and returns the files as a reader receives them. */
async function exported(baseFolder: string, format: "peft" | "merged", isBase = false) {
  const { files, adapters } = exporting;
  exportedBases.set(baseFolder, baseFolder);
  const trained = sampleModel("m", { baseModel: baseFolder });
  const found = await files.export(trained, isBase ? sampleVersion("m", 0) : version, { format });
  const contents = new Map<string, Buffer>();
  for (const { name, byteCount, pieces } of found) {
    const bytes: Uint8Array[] = [];
    for await (const piece of pieces()) {
      assert.deepEqual([...adapters.ids()], isBase ? [] : ["m:1"]);
      bytes.push(piece);
    }
    contents.set(name, Buffer.concat(bytes));
    assert.equal(contents.get(name)?.length, byteCount, name);
  }
  assert.deepEqual([...adapters.ids()], []);
  return contents;
}

/** Returns a copy of the base with its weights in another type, in one file or in two. */
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

/** Checks that each weight equals W + scale · B A. */
function checkMerged(files: ReadonlyMap<string, Buffer>, baseFolder: string): void {
  const folder = mkdtempSync(join(scratch, "merged-"));
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  const merged = readSafetensorsFolder(folder);
  const before = readStoredTensors(baseFolder);
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

test("exports a PEFT folder byte for byte, without the trainer's files", async () => {
  const files = await exported(base, "peft");
  assert.deepEqual([...files.keys()], ["adapter_config.json", "adapter_model.safetensors"]);
  for (const [name, bytes] of files) assert.deepEqual(bytes, readFileSync(join(adapterFolder, name)));
});

for (const [what, folder] of [
  ["float32", baseWith("F32")],
  ["bfloat16", baseWith("BF16")],
  ["shards", baseWith("BF16", 2)],
] as const) {
  test(`exports a merged model of ${what} with W + scale · B A for each adapted weight`, async () => {
    checkMerged(await exported(folder, "merged"), folder);
  });
}

test("exports a merged model over a GGUF file as a folder of safetensors", async () => {
  const folder = ensureGgufFolder("test/fixtures/gguf/qwen3.gguf", join(scratch, "gguf"));
  const files = await exported(folder, "merged");
  checkMerged(files, folder);
  const derived = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"];
  assert.deepEqual([...files.keys()].sort(), [...derived, "model.safetensors"].sort());
});

for (const name of ["llama3-rope", "gemma3", "granite", "smollm3", "olmo2", "phi3"]) {
  test(`exports ${name} from a GGUF file with the weights that the file was made from`, async () => {
    const gguf = ensureGgufFolder(`test/fixtures/gguf/${name}.gguf`, join(scratch, "gguf"));
    const folder = mkdtempSync(join(scratch, "converted-"));
    for (const [file, bytes] of await exported(gguf, "merged", true))
      writeFileSync(join(folder, file), bytes);
    const [converted, wanted] = [
      readSafetensorsFolder(folder),
      readSafetensorsFolder(join(base, "..", name)),
    ];
    assert.deepEqual([...converted.keys()].sort(), [...wanted.keys()].sort());
    for (const [tensor, stored] of wanted)
      assert.deepEqual(readFloats(converted.get(tensor)!), readFloats(stored), tensor);
    assert.deepEqual(readModelConfig(folder), readModelConfig(gguf));
  });
}

for (const [name, weight] of readGguf("test/fixtures/gguf/every-type.gguf").tensors) {
  test(`exports rows of ${name} unchanged or merged with an adapter`, () => {
    const type = exportedType(weight);
    const whole = readFloats(weight);
    const bytes = mergeRows({ weight, adapter: null, written: { type }, from: 0, count: weight.shape[0] });
    assert.deepEqual(bytes, storedBytes(whole, type));
    const width = weight.shape[1];
    const [a, b] = [
      Float32Array.from({ length: width }, (_, column) => column - 3),
      Float32Array.from({ length: weight.shape[0] }, (_, row) => row + 0.5),
    ];
    const folder = mkdtempSync(join(scratch, "rows-"));
    const tensors = [
      { name: "a", shape: [1, width], data: a },
      { name: "b", shape: [b.length, 1], data: b },
    ];
    writeSafetensors(join(folder, "model.safetensors"), tensors, { type: "F32" });
    const stored = readSafetensorsFolder(folder);
    const adapter = { a: stored.get("a")!, b: stored.get("b")!, scale: 2 };
    const second = whole.slice(width, 2 * width).map((value, column) => value + 2 * 1.5 * a[column]);
    assert.deepEqual(
      mergeRows({ weight, adapter, written: { type }, from: 1, count: 1 }),
      new Uint8Array(storedBytes(second, type)),
    );
  });
}

test("exports rows that a head's file holds in another order the same singly and in groups", () => {
  const { tensors } = readGguf("test/fixtures/gguf/llama3-rope.gguf");
  const stored = tensors.get("blk.0.attn_q.weight")!;
  const weight = { ...stored, rearranged: { kind: "paired-rows", headCount: 4 } } as const;
  const [rowCount, width] = stored.shape;
  const from = rowCount / 4;
  const rows = mergeRows({ weight, adapter: null, written: { type: "BF16" }, from, count: 2 * from });
  const expected = readFloats(weight).slice(from * width, 3 * from * width);
  assert.deepEqual(rows, new Uint8Array(storedBytes(expected, "BF16")));
});

test("exports a merged model with the model's own files, and no other weights or hidden files", async () => {
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

test("exports version 0 as the base itself, without a PEFT folder", async () => {
  const files = await exported(base, "merged", true);
  assert.deepEqual(files.get("model.safetensors"), readFileSync(join(base, "model.safetensors")));
  await assert.rejects(exported(base, "peft", true), { code: "unsupported" });
});

test("refuses an unreadable version by its step, and a base that is not served by the setting", async () => {
  const { files } = await openFiles(new Map([["tiny", base]]), scratch);
  const lost = sampleVersion("m", 3, { adapterFolder: "nowhere", base: null });
  for (const hash of [null, "of its files"])
    for (const format of ["peft", "merged"] as const) {
      const exporting = files.export(model, { ...lost, adapterHash: hash }, { format });
      await assert.rejects(exporting, (error: Error & { code?: string }) => {
        assert.equal(error.code, "conflict");
        assert.match(error.message, /^Version 3 cannot be exported\. .*files cannot be read/);
        assert.doesNotMatch(error.message, /nowhere|hone-checkpoints/);
        return true;
      });
    }
  const strange = sampleModel("n", { baseModel: "huge" });
  await assert.rejects(files.export(strange, version, { format: "merged" }), { code: "unsupported" });
  await files.close();
});

test("exports no version with a byte changed on disk, and no merged model over other weights", async () => {
  const dataFolder = mkdtempSync(join(scratch, "data-"));
  const { files } = await openFiles(new Map([["tiny", base]]), dataFolder);
  cpSync(adapterFolder, join(dataFolder, "own"), { recursive: true });
  const stored = { ...version, adapterFolder: "own" };
  const codeOf = (changes: Partial<typeof version>, format: "peft" | "merged"): Promise<string> =>
    files.export(model, { ...stored, ...changes }, { format }).then(
      () => "fine",
      (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
    );
  for (const format of ["peft", "merged"] as const) assert.equal(await codeOf({}, format), "fine");
  assert.match(
    await codeOf({ base: "a".repeat(64) }, "merged"),
    /^conflict: Version 1 was trained over other/,
  );
  assert.equal(await codeOf({ base: "a".repeat(64) }, "peft"), "fine");
  const file = join(dataFolder, "own", "adapter_model.safetensors");
  const bytes = readFileSync(file);
  bytes[bytes.length - 3] ^= 1;
  writeFileSync(file, bytes);
  for (const format of ["peft", "merged"] as const)
    assert.match(
      await codeOf({}, format),
      /^conflict: Version 1 cannot be exported\. The adapter on disk is not/,
    );
  await files.close();
});

/** Changes to files or settings of the reference adapter. */
interface Change {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Returns the new numbers of a matrix; null leaves the matrix out. */
  readonly matrix?: (name: string, values: Float32Array) => Float32Array | null;
  readonly type?: "F32" | "BF16";
  readonly files?: Readonly<Record<string, string>>;
}

function changedAdapter({
  config: changes = {},
  matrix = (_, values) => values,
  type = "F32",
  files = {},
}: Change) {
  const folder = mkdtempSync(join(scratch, "adapter-"));
  const settings = JSON.parse(readFileSync(join(adapterFolder, "adapter_config.json"), "utf8")) as object;
  writeFileSync(join(folder, "adapter_config.json"), JSON.stringify({ ...settings, ...changes }));
  const tensors = [
    ...readSafetensorsHeader(join(adapterFolder, "adapter_model.safetensors")).tensors.values(),
  ];
  const kept = tensors.flatMap((tensor) => {
    const data = matrix(tensor.name, readFloats(tensor));
    return data === null ? [] : [{ name: tensor.name, shape: tensor.shape, data }];
  });
  writeSafetensors(join(folder, "adapter_model.safetensors"), kept, { type });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function* tarOfFolder(folder: string): AsyncGenerator<Uint8Array> {
  yield execFileSync("tar", ["cf", "-", "-C", folder, "."], { maxBuffer: 1 << 26 });
}

/** Opens the files of a new model that has no version yet. `imported` imports a folder as its next version. */
async function openImports(
  t: TestContext,
  { settings = {}, baseFolder = base }: { settings?: Partial<ModelSettings>; baseFolder?: string } = {},
) {
  const dataFolder = mkdtempSync(join(scratch, "data-"));
  const opened = await openFiles(new Map([["tiny", baseFolder]]), dataFolder, settings);
  t.after(() => opened.files.close());
  await storeModel(opened.store, "m");
  const imported = (folder: string) => opened.files.import(model, tarOfFolder(folder), { requestId: "r" });
  return { ...opened, dataFolder, imported };
}

test("imports adapters made by PEFT as the next versions, with their files unchanged", async (t) => {
  const { imported, store, newVersions, prepared, dataFolder } = await openImports(t);
  for (const [step, folder, ignored] of [
    [1, changedAdapter({ type: "BF16", config: { use_rslora: true, target_modules: "all-linear" } }), []],
    [2, adapterFolder, ["README.md"]],
  ] as const) {
    const { version, ...rest } = await imported(folder);
    assert.deepEqual(rest, { ignored });
    assert.deepEqual(
      [version.step, version.adapterFolder, version.jobId],
      [step, `adapters/m/${step}`, null],
    );
    assert.equal(version.base, weights);
    assert.equal(version.adapterHash, adapterHash(folder));
    assert.deepEqual(await store.newestVersion("m"), version);
    assert.deepEqual([newVersions.splice(0), prepared.splice(0)], [["m"], [`m:${step} over tiny`]]);
    const placed = join(dataFolder, `adapters/m/${step}`);
    assert.deepEqual(readdirSync(placed).sort(), ["adapter_config.json", "adapter_model.safetensors"]);
    for (const name of readdirSync(placed))
      assert.deepEqual(readFileSync(join(placed, name)), readFileSync(join(folder, name)));
    assert.deepEqual(readdirSync(join(dataFolder, "work/server")), []);
  }
});

test("imports an adapter that names its base's weights only over those weights", async (t) => {
  const said = (weights: string): string => changedAdapter({ config: { base_model_sha256: weights } });
  const { imported, store } = await openImports(t);
  assert.equal((await imported(said(weights))).version.base, weights);
  await assert.rejects(imported(said("a".repeat(64))), (error: Error & { code?: string }) => {
    assert.equal(error.code, "conflict");
    assert.match(error.message, /trained over weights aaaaaaaaaaaa \(base_model_sha256\)/);
    return true;
  });
  assert.equal(await store.greatestStep("m"), 1);
});

test("refuses an adapter that cannot be served by name, and leaves nothing", async (t) => {
  const config = (changes: Change["config"]): string => changedAdapter({ config: changes });
  const first = "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight";
  const { imported, store, dataFolder, newVersions } = await openImports(t);
  for (const [folder, code, message] of [
    [config({ bias: "all" }), "unsupported", /^The adapter in the archive cannot be applied. bias is "all"/],
    [config({ modules_to_save: ["lm_head"] }), "unsupported", /modules_to_save is/],
    [config({ rank_pattern: { ".*_proj": 2 } }), "unsupported", /rank_pattern\.\.\*_proj is 2: only names/],
    [config({ peft_type: "LOHA" }), "unsupported", /peft_type is "LOHA": only LORA/],
    [config({ r: 5 }), "invalid", /does not fit the model: .*is \[4, 128\]/],
    [
      config({ target_modules: ["q_proj", "lm_head"] }),
      "unsupported",
      /target_modules is \["q_proj","lm_head"\]: only/,
    ],
    [
      changedAdapter({ matrix: (name, values) => (name.includes("v_proj") ? null : values) }),
      "invalid",
      /target_modules names v_proj, for which the file has no matrices/,
    ],
    [
      changedAdapter({ matrix: (name, values) => (name === first ? null : values) }),
      "invalid",
      /layers.0.mlp.down_proj.lora_A.weight is missing/,
    ],
    [
      changedAdapter({ matrix: (name, values) => (name === first ? values.with(7, NaN) : values) }),
      "invalid",
      /layers.0.mlp.down_proj.lora_A.weight holds a number that is not finite/,
    ],
    [
      changedAdapter({ files: { "adapter_config.json": "{" } }),
      "invalid",
      /^adapter_config.json is not valid JSON/,
    ],
    [
      changedAdapter({ files: { "adapter_config.json": " ".repeat(2 << 20) } }),
      "invalid",
      /adapter_config.json has 2097152 bytes; at most 1048576 are read/,
    ],
    [
      changedAdapter({ files: { "adapter_model.safetensors": "short" } }),
      "invalid",
      /adapter_model.safetensors cannot be read/,
    ],
    [mkdtempSync(join(scratch, "empty-")), "invalid", /^adapter_config.json is missing/],
  ] as const) {
    await assert.rejects(imported(folder), (error: Error & { code?: string }) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /hone-checkpoints/);
      assert.equal(error.code, code);
      return true;
    });
    assert.equal(await store.greatestStep("m"), 0);
    assert.deepEqual([newVersions, readdirSync(join(dataFolder, "work/server"))], [[], []]);
    assert.equal(existsSync(join(dataFolder, "adapters")), false);
  }
});

test("refuses an adapter that overflows float32, naming the matrix or the scale, and the limit", async (t) => {
  const filled = (a: number, b: number, config: Change["config"] = {}): string =>
    changedAdapter({ config, matrix: (name, values) => values.fill(name.includes("lora_A") ? a : b) });
  const own = (config: Change["config"]): string => changedAdapter({ config });
  const { imported, store } = await openImports(t);
  for (const [folder, message] of [
    [
      filled(3e38, 3e38),
      /q_proj\.lora_A\.weight is too large.* row 0 add up to 1\.92e\+40, and at most 1\.70e\+34/,
    ],
    [filled(3e38, 1e-38), /q_proj\.lora_A\.weight is too large for float32/],
    [
      filled(1e-38, 3e38),
      /q_proj\.lora_B\.weight is too large.* row 0 holds 3\.00e\+38, which is multiplied by/,
    ],
    [
      filled(1e10, 1e10),
      /q_proj\.lora_B\.weight is too large.*scale × B × A reaches .* and at most 1\.00e\+14/,
    ],
    [filled(1e32, 1e-38, { lora_alpha: 1e4 }), /lora_A\.weight is too large.*at most 1\.36e\+31/],
    [
      own({ lora_alpha: 1e308 }),
      /^The adapter has the scale 2\.5e\+307 .*float32 ends at 3\.40e\+38\. Lower lora_alpha/,
    ],
    [own({ lora_alpha: 1e39 }), /lora_[AB]\.weight is too large|has the scale/],
    [own({ lora_alpha: 1e308, use_rslora: true }), /has the scale 5e\+307/],
    [
      own({ alpha_pattern: { down_proj: 1e300 } }),
      /^model\.layers\.0\.mlp\.down_proj has the scale 2\.5e\+299/,
    ],
    [
      filled(0, 0, { lora_alpha: 1e-300, alpha_pattern: { down_proj: 1e38 } }),
      /down_proj\.lora_B\.weight is too large/,
    ],
    [filled(NaN, 1), /lora_A\.weight holds a number that is not finite/],
    [filled(1, -Infinity), /lora_B\.weight holds a number that is not finite/],
  ] as const) {
    await assert.rejects(imported(folder), { code: "invalid", message });
    assert.equal(await store.greatestStep("m"), 0);
  }
  const usable = [filled(1e3, 1e3), filled(1e30, 1e-30), filled(1e-30, 1e30), filled(0, 0)];
  for (const [index, folder] of usable.entries())
    assert.equal((await imported(folder)).version.step, index + 1);
});

test("refuses an adapter of another model, and one beyond a limit of the settings", async (t) => {
  const check = async (message: RegExp, options: Parameters<typeof openImports>[1]): Promise<void> => {
    const { imported } = await openImports(t, options);
    await assert.rejects(imported(adapterFolder), message);
  };
  await check(/does not fit the model/, { baseFolder: "test/fixtures/goldens/models/llama" });
  await check(/rank r is 4; at most 3 is allowed/, {
    settings: { importRankMax: 3 },
  });
  await check(/more than 5000 bytes together/, { settings: { importBytesMax: 5000 } });
  await check(/0 adapters are being imported/, { settings: { importCountMax: 0 } });
});
