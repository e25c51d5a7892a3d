// Tests adapters in the PEFT layout: reading the reference implementation's file, round trips, and refusals by name.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectionNames } from "../../base/domain/model.ts";
import { present } from "../../base/domain/assert.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { readModelConfig } from "./config/read-config.ts";
import { createLoraAdapter, servingLoraInputs, type LoraAdapter } from "./lora.ts";
import { loraNames, loraProjections } from "./parameters.ts";
import { storedProjections } from "./stored-projections.ts";
import { openLoraAdapter, readLoraAdapter, writeLoraAdapter } from "./peft-folder.ts";
import { readSafetensorsHeader } from "../../lib/model-files/safetensors.ts";
import { readFloats } from "../../lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../lib/model-files/write-safetensors.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-peft-"));
after(() => rmSync(scratch, { recursive: true }));

const config = readModelConfig("test/fixtures/goldens/models/qwen3");
const reference = "test/fixtures/goldens/training/adapter";

/** Copies the reference adapter with some settings in its configuration replaced. */
function changedAdapter(changes: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(scratch, "changed-"));
  cpSync(reference, folder, { recursive: true });
  const file = join(folder, "adapter_config.json");
  const settings = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...settings, ...changes }));
  return folder;
}

test("reads an adapter that PEFT wrote", () => {
  const adapter = readLoraAdapter(reference, config);
  assert.equal(adapter.rank, 4);
  assert.equal(adapter.scale, 2);
  assert.equal(adapter.targets.length, 7);
  assert.equal(adapter.matrices.size, 42);
  assert.equal(adapter.matrices.get("model.layers.2.self_attn.o_proj.lora_A.weight")?.length, 4 * 128);
});

test("reads back what it wrote, also with few targets", () => {
  const folder = join(scratch, "written");
  const adapter = createLoraAdapter(config, { rank: 3, alpha: 5, targets: ["v_proj", "q_proj"], seed: 1 });
  writeLoraAdapter(folder, adapter, { config, baseModelName: "base" });
  assert.deepEqual(readLoraAdapter(folder, config), adapter);
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<
    string,
    unknown
  >;
  assert.equal(settings["peft_type"], "LORA");
  assert.deepEqual(settings["target_modules"], ["q_proj", "v_proj"]);
  assert.equal(settings["base_model_name_or_path"], "base");
});

test("keeps rank stabilisation through a round trip", () => {
  const adapter = readLoraAdapter(changedAdapter({ use_rslora: true }), config);
  assert.equal(adapter.scale, 8 / Math.sqrt(4));
  const folder = join(scratch, "stabilised");
  const stabilised = { ...adapter, scale: 8 / Math.sqrt(3), rank: 4 };
  writeLoraAdapter(folder, stabilised, { config, baseModelName: "base" });
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<
    string,
    unknown
  >;
  assert.equal(settings["use_rslora"], true);
});

test("a new adapter is seeded, within PEFT's bound, and changes nothing", () => {
  const adapter = createLoraAdapter(config, { seed: 5 });
  assert.deepEqual(createLoraAdapter(config, { seed: 5 }), adapter);
  assert.notDeepEqual(createLoraAdapter(config, { seed: 6 }), adapter);
  const a = adapter.matrices.get("model.layers.0.mlp.down_proj.lora_A.weight")!;
  const greatest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const bound = 1 / Math.sqrt(160);
  assert.ok(greatest <= bound && greatest > 0.95 * bound);
  const b = adapter.matrices.get("model.layers.0.mlp.down_proj.lora_B.weight")!;
  assert.ok(b.every((value) => value === 0));
});

test("folds the scale into B for serving, and fills modules without an adapter with zeros", () => {
  const adapter = readLoraAdapter(reference, config);
  const queryB = "model.layers.0.self_attn.q_proj.lora_B.weight";
  const keyA = "model.layers.0.self_attn.k_proj.lora_A.weight";
  const stored = adapter.matrices.get(queryB)!;
  const inputs = servingLoraInputs(config, { ...adapter, matrices: new Map([[queryB, stored]]) });
  assert.equal(inputs.size, 42);
  assert.deepEqual(
    inputs.get(queryB)?.data,
    stored.map((value) => 2 * value),
  );
  assert.deepEqual(inputs.get(keyA), { shape: [4, 64], data: new Float32Array(4 * 64) });
  assert.deepEqual(servingLoraInputs(config, null).get(keyA)?.shape, [1, 64]);
});

for (const init of ["pissa", "pissa_niter_4", "olora", "corda", "loftq", "lora_ga"])
  test(`refuses an adapter of ${init}, which changes the base weights`, () => {
    assert.throws(() => readLoraAdapter(changedAdapter({ init_lora_weights: init }), config), {
      code: "unsupported",
      message: new RegExp(`init_lora_weights is "${init}".*path_initial_model_for_weight_conversion`),
    });
  });

test("reads adapters of every initialisation that leaves the base's weights unchanged", () => {
  for (const init of [true, false, null, "gaussian", "orthogonal", "eva"])
    assert.equal(readLoraAdapter(changedAdapter({ init_lora_weights: init }), config).rank, 4);
});

/**
 * Returns a pattern for the value that an error message reports as unsupported: the option's value, or a value inside
 * it.
 */
function faultOf(value: unknown): string {
  const shown = [value, ...(typeof value === "object" ? Object.values(value ?? {}) : [])];
  return shown.map((one) => JSON.stringify(one).replaceAll(/[[\]{}()|]/g, "\\$&")).join("|");
}

for (const [field, value] of Object.entries({
  use_dora: true,
  bias: "all",
  modules_to_save: ["lm_head"],
  rank_pattern: { "(q|k)_proj": 2 },
  alpha_pattern: { q_proj: -2 },
  layers_to_transform: ["0"],
  layers_pattern: "blocks",
  layer_replication: [[0, 1]],
  target_modules: 5,
  fan_in_fan_out: true,
  peft_type: "IA3",
  trainable_token_indices: [1],
})) {
  test(`refuses ${field} by name`, () => {
    assert.throws(() => readLoraAdapter(changedAdapter({ [field]: value }), config), {
      code: "unsupported",
      message: new RegExp(`${field}\\S* is (${faultOf(value)})`),
    });
  });
}

/** Returns scale · B A, which the adapter adds to a module's weight. */
function productOf(a: Float32Array, b: Float32Array, rank: number, scale: number): readonly number[] {
  const [inputSize, outputSize] = [a.length / rank, b.length / rank];
  return Array.from({ length: inputSize * outputSize }, (_, at) => {
    const [row, column] = [Math.floor(at / inputSize), at % inputSize];
    let sum = 0;
    for (let index = 0; index < rank; index++) sum += b[row * rank + index] * a[index * inputSize + column];
    return scale * sum;
  });
}

/**
 * Writes an adapter with r 4, alpha 8 and random matrices. `rankOf` gives each module's rank, or null for a module
 * without matrices.
 */
function patternedAdapter(
  settings: Readonly<Record<string, unknown>>,
  rankOf: (path: string) => number | null,
): { readonly folder: string; readonly matrices: ReadonlyMap<string, Float32Array> } {
  const folder = changedAdapter(settings);
  const random = seededRandom("patterned adapter", 1);
  const tensors = loraProjections(config, projectionNames).flatMap(({ path, inputSize, outputSize }) => {
    const rank = rankOf(path);
    if (rank === null) return [];
    const { a, b } = loraNames(path);
    return [
      { name: a, shape: [rank, inputSize] },
      { name: b, shape: [outputSize, rank] },
    ].map(({ name, shape }) => ({
      name: `base_model.model.${name}`,
      shape,
      data: Float32Array.from({ length: shape[0] * shape[1] }, () => random.uniform() - 0.5),
    }));
  });
  writeSafetensors(join(folder, "adapter_model.safetensors"), tensors, { type: "F32" });
  return {
    folder,
    matrices: new Map(tensors.map(({ name, data }) => [name.replace("base_model.model.", ""), data])),
  };
}

/**
 * Checks that each module adds its own product at its own rank and scale. A module without matrices must add nothing.
 */
function checkProducts(
  { folder, matrices }: ReturnType<typeof patternedAdapter>,
  ownOf: (path: string) => { readonly rank: number; readonly scale: number },
): void {
  const adapter = readLoraAdapter(folder, config);
  for (const { path } of loraProjections(config, adapter.targets)) {
    const { a, b } = loraNames(path);
    const products = (from: ReadonlyMap<string, Float32Array>, own: { rank: number; scale: number }) =>
      productOf(present(from.get(a), a), present(from.get(b), b), own.rank, own.scale);
    const found = products(adapter.matrices, adapter);
    const expected = matrices.has(a) ? products(matrices, ownOf(path)) : found.map(() => 0);
    found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-6, `${path} at ${at}`));
  }
}

test("modules of other ranks and alphas keep their effect at the adapter's", () => {
  const patterns = {
    rank_pattern: { q_proj: 2, "^model.layers.1.mlp.up_proj": 16, "layers\\.0\\.mlp\\.down_proj": 1 },
    alpha_pattern: { "self_attn.k_proj": 3, up_proj: 32 },
  };
  const rankOf = (path: string): number => {
    if (path.endsWith("q_proj")) return 2;
    if (path === "model.layers.1.mlp.up_proj") return 16;
    return path === "model.layers.0.mlp.down_proj" ? 1 : 4;
  };
  const alphaOf = (path: string): number => (path.endsWith("k_proj") ? 3 : path.endsWith("up_proj") ? 32 : 8);
  const plain = patternedAdapter(patterns, rankOf);
  assert.equal(readLoraAdapter(plain.folder, config).rank, 16);
  checkProducts(plain, (path) => ({ rank: rankOf(path), scale: alphaOf(path) / rankOf(path) }));
  checkProducts(patternedAdapter({ ...patterns, use_rslora: true }, rankOf), (path) => ({
    rank: rankOf(path),
    scale: alphaOf(path) / Math.sqrt(rankOf(path)),
  }));
});

test("unadapted modules are zeros, however the configuration excludes them", () => {
  const own = (): { rank: number; scale: number } => ({ rank: 4, scale: 2 });
  const ofLayer = (layer: number, path: string): number | null =>
    path.includes(`.layers.${layer}.`) ? 4 : null;
  const ofName = (name: string, path: string): number | null => (path.endsWith(name) ? 4 : null);
  for (const [settings, rankOf] of [
    [{ layers_to_transform: [1] }, (path) => ofLayer(1, path)],
    [{ layers_to_transform: 2, layers_pattern: "layers" }, (path) => ofLayer(2, path)],
    [{ target_modules: "model\\.layers\\.[01]\\..*_proj" }, (path) => ofLayer(0, path) ?? ofLayer(1, path)],
    [
      { target_modules: ["model.layers.0.self_attn.q_proj", "v_proj"] },
      (path) => ofName("v_proj", path) ?? ofName("layers.0.self_attn.q_proj", path),
    ],
    [
      { exclude_modules: ["layers.0.mlp.up_proj"] },
      (path) => (ofName("layers.0.mlp.up_proj", path) === null ? 4 : null),
    ],
    [{}, (path) => ofLayer(2, path)],
  ] satisfies readonly (readonly [object, (path: string) => number | null])[]) {
    const made = patternedAdapter(settings, rankOf);
    checkProducts(made, own);
    const { modules, targets } = openLoraAdapter(made.folder, config);
    assert.equal(2 * modules.size, made.matrices.size);
    assert.equal(readLoraAdapter(made.folder, config).matrices.size, 2 * 3 * targets.length);
  }
});

test("refuses matrices that the configuration excludes, that lack their counterpart, or have another rank", () => {
  const refused = (settings: object, rankOf: (path: string) => number | null, message: RegExp): void =>
    assert.throws(() => openLoraAdapter(patternedAdapter({ ...settings }, rankOf).folder, config), {
      code: "invalid",
      message,
    });
  refused({ layers_to_transform: [1] }, () => 4, /layers\.0\.self_attn\.q_proj\.lora_A\.weight is unknown/);
  refused({ target_modules: ["q_proj"] }, () => 4, /k_proj\.lora_A\.weight is unknown/);
  refused({ exclude_modules: ["q_proj"] }, () => 4, /q_proj\.lora_A\.weight is unknown/);
  refused({ rank_pattern: { q_proj: 2 } }, () => 4, /lora_A\.weight is \[4, 64\], .* \[2, 64\]/);
  const { folder } = patternedAdapter({}, () => 4);
  const tensors = [
    { name: "model.layers.0.mlp.up_proj.lora_A.weight", shape: [4, 64], data: new Float32Array(256) },
  ];
  writeSafetensors(join(folder, "adapter_model.safetensors"), tensors, { type: "F32" });
  assert.throws(() => openLoraAdapter(folder, config), { message: /up_proj\.lora_B\.weight is missing/ });
});

test("refuses an adapter of another model, naming matrices", () => {
  const other = readModelConfig("test/fixtures/goldens/models/llama");
  assert.throws(() => readLoraAdapter(reference, other), {
    code: "invalid",
    message: /q_proj\.lora_B\.weight is \[128, 4\], but the configuration requires \[64, 4\]/,
  });
});

test("names the missing file", () => {
  assert.throws(() => readLoraAdapter(scratch, config), {
    code: "not_found",
    message: /adapter_config\.json/,
  });
});

const fused = readModelConfig("test/fixtures/goldens/models/phi3");
const fusedReference = "test/fixtures/goldens/phi3-adapter";

/** Creates an adapter for a model with fused projections, with nonzero numbers in all of its matrices. */
/** Projections that the fused model has. */
const fusedTargets = projectionNames.filter((name) => !/^(?:in_proj|out_proj|per_layer)/.test(name));

function fusedAdapter(targets = projectionNames.slice()): LoraAdapter {
  const adapter = createLoraAdapter(fused, { rank: 3, alpha: 5, targets, seed: 4 });
  const random = seededRandom("an adapter over fused projections");
  for (const matrix of adapter.matrices.values())
    matrix.forEach((_, at) => (matrix[at] = random.uniform() - 0.5));
  return adapter;
}

function writtenFused(adapter: LoraAdapter): string {
  const folder = mkdtempSync(join(scratch, "fused-"));
  writeLoraAdapter(folder, adapter, { config: fused, baseModelName: "phi3" });
  return folder;
}

test("parts of a fused projection take their rows of its B, and its whole A", () => {
  const adapter = readLoraAdapter(fusedReference, fused);
  assert.deepEqual([adapter.rank, adapter.scale, adapter.targets], [4, 1.5, fusedTargets]);
  const tensors = readSafetensorsHeader(join(fusedReference, "adapter_model.safetensors")).tensors;
  const stored = (name: string): Float32Array =>
    readFloats(present(tensors.get(`base_model.model.model.layers.1.${name}`), name));
  const own = (name: string): Float32Array => present(adapter.matrices.get(`model.layers.1.${name}`), name);
  const [q, k] = [fused.headCount * fused.headSize, fused.kvHeadCount * fused.headSize];
  const b = stored("self_attn.qkv_proj.lora_B.weight");
  for (const [name, from, to] of [
    ["q_proj", 0, q],
    ["k_proj", q, q + k],
    ["v_proj", q + k, q + 2 * k],
  ] as const) {
    assert.deepEqual(own(`self_attn.${name}.lora_B.weight`), b.slice(4 * from, 4 * to), name);
    assert.deepEqual(
      own(`self_attn.${name}.lora_A.weight`),
      stored("self_attn.qkv_proj.lora_A.weight"),
      name,
    );
  }
});

test("writes an adapter over fused projections stacked, with the same products", () => {
  const adapter = fusedAdapter();
  const folder = writtenFused(adapter);
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<
    string,
    unknown
  >;
  const { r, lora_alpha: alpha, target_modules: targets } = settings;
  assert.deepEqual([r, alpha, targets], [9, 15, ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]]);
  const tensors = readSafetensorsHeader(join(folder, "adapter_model.safetensors")).tensors;
  // Four modules per layer have two matrices each.
  assert.equal(tensors.size, 8 * fused.layers.length);
  for (const { path, inputSize, outputSize, parts } of storedProjections(fused)) {
    const names = loraNames(path);
    const [a, b] = [names.a, names.b].map((name) => readFloats(tensors.get(`base_model.model.${name}`)!));
    const whole = product(b, a, { outputSize, inputSize, rank: 9 });
    for (const { projection, from } of parts) {
      const own = loraNames(projection.path);
      const [ownA, ownB] = [adapter.matrices.get(own.a)!, adapter.matrices.get(own.b)!];
      const sizes = { outputSize: projection.outputSize, inputSize, rank: 3 };
      const rows = whole.slice(from * inputSize, (from + projection.outputSize) * inputSize);
      assert.deepEqual(rows, product(ownB, ownA, sizes), projection.path);
    }
  }
});

/** Returns the matrix product B A in double precision. */
function product(
  b: Float32Array,
  a: Float32Array,
  { outputSize, inputSize, rank }: { outputSize: number; inputSize: number; rank: number },
): number[] {
  return Array.from({ length: outputSize * inputSize }, (_, at) => {
    const [row, column] = [Math.floor(at / inputSize), at % inputSize];
    let sum = 0;
    for (let index = 0; index < rank; index++) sum += b[row * rank + index] * a[index * inputSize + column];
    return sum;
  });
}

for (const [what, adapter] of [
  ["on all projections", fusedAdapter()],
  ["on some parts of fused ones", fusedAdapter(["q_proj", "v_proj", "down_proj"])],
  ["on only a fused pair", fusedAdapter(["gate_proj", "up_proj"])],
  ["on none that is fused", fusedAdapter(["o_proj"])],
  ["with rank stabilisation", { ...fusedAdapter(), scale: 5 / Math.sqrt(3) }],
  ["without training", createLoraAdapter(fused, { rank: 2, seed: 1 })],
] as const) {
  test(`an adapter ${what} survives the round trip through fused modules`, () => {
    assert.deepEqual(readLoraAdapter(writtenFused(adapter), fused), adapter);
  });
}

test("refuses an adapter that declares parts but is not stacked, naming the location", () => {
  const changed = (changes: Readonly<Record<string, unknown>>): string => {
    const folder = writtenFused(fusedAdapter());
    const file = join(folder, "adapter_config.json");
    const settings = JSON.parse(readFileSync(file, "utf8")) as Record<string, object>;
    const parts = { ...settings["unfused_adapter"], ...changes };
    writeFileSync(file, JSON.stringify({ ...settings, unfused_adapter: parts }));
    return folder;
  };
  const read = (changes: Readonly<Record<string, unknown>>) => () => readLoraAdapter(changed(changes), fused);
  assert.throws(read({ r: 2, lora_alpha: 10 / 3 }), {
    code: "invalid",
    message: /rows of .*qkv_proj.* hold numbers outside their 2 columns from 0 on.* Remove that field/,
  });
  assert.throws(read({ r: 4 }), {
    code: "invalid",
    message: /qkv_proj has rank 9 and scale .*, its parts 4/,
  });
  assert.throws(read({ lora_alpha: 7 }), { code: "invalid", message: /unfused_adapter/ });
  assert.throws(read({ target_modules: [] }), { code: "unsupported", message: /target_modules is \[\]/ });
});

test("refuses modules of other families over fused projections by name", () => {
  assert.throws(() => readLoraAdapter(reference, fused), {
    code: "unsupported",
    message: /only qkv_proj, o_proj, gate_up_proj, down_proj are adapted here/,
  });
});

const multimodal = readModelConfig("test/fixtures/goldens/models/qwen3.5-images");
const otherPart = "base_model.model.model.visual.blocks.0.attn.proj";

/**
 * Writes an adapter of a multimodal model. It has matrices for a module that processes images; all entries of B are
 * `value`.
 */
function withOtherPart(value: number): string {
  const folder = mkdtempSync(join(scratch, "images-"));
  cpSync("test/fixtures/goldens/images-adapter", folder, { recursive: true });
  const file = join(folder, "adapter_model.safetensors");
  const tensors = [...readSafetensorsHeader(file).tensors].map(([name, tensor]) => ({
    name,
    shape: tensor.shape,
    data: readFloats(tensor),
  }));
  tensors.push(
    { name: `${otherPart}.lora_A.weight`, shape: [4, 16], data: new Float32Array(64).fill(0.5) },
    { name: `${otherPart}.lora_B.weight`, shape: [16, 4], data: new Float32Array(64).fill(value) },
  );
  writeSafetensors(file, tensors, { type: "F32" });
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as object;
  writeFileSync(
    join(folder, "adapter_config.json"),
    JSON.stringify({ ...settings, target_modules: ["up_proj", "q_proj", "attn.proj"] }),
  );
  return folder;
}

test("leaves out untrained modules of a multimodal model's other parts, and refuses trained ones", () => {
  const whole = readLoraAdapter("test/fixtures/goldens/images-adapter", multimodal);
  assert.deepEqual(readLoraAdapter(withOtherPart(0), multimodal), whole);
  assert.throws(() => readLoraAdapter(withOtherPart(0.1), multimodal), {
    code: "unsupported",
    message: /changes model\.visual\.blocks\.0\.attn\.proj\.lora_B\.weight, but only the language model/,
  });
});

test("writes an adapter of a multimodal model with the names of its class, and adapts only the text part", () => {
  const given = "test/fixtures/goldens/images-adapter";
  const folder = join(scratch, "written-images");
  const adapter = readLoraAdapter(given, multimodal);
  writeLoraAdapter(folder, adapter, { config: multimodal, baseModelName: "base" });
  const namesIn = (of: string): readonly string[] =>
    [...readSafetensorsHeader(join(of, "adapter_model.safetensors")).tensors.keys()].toSorted();
  const matrices = namesIn(folder);
  assert.deepEqual(matrices, namesIn(given));
  assert.deepEqual(readLoraAdapter(folder, multimodal), adapter);
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as {
    readonly target_modules: string;
  };
  // PEFT adapts the modules whose whole path matches.
  const isTarget = new RegExp(`^(?:${settings.target_modules})$`);
  const modules = matrices.map((name) => name.replace(/^base_model\.model\.|\.lora_[AB]\.weight$/g, ""));
  assert.ok(modules.every((path) => isTarget.test(path)));
  assert.ok(!isTarget.test("model.visual.blocks.0.mlp.up_proj"));
  assert.ok(!isTarget.test("model.language_model.layers.0.mlp.gate_proj"));
});
