// Compares log-probabilities computed from GGUF files with those of llama.cpp, for every family, every tensor type, and
// variations of each metadata key. The tests write the files; llama.cpp's results are in
// test/fixtures/gguf/log-probabilities.json.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readGguf } from "../src/lib/model-files/gguf/gguf-file.ts";
import { writeGgufFolder } from "../src/lib/model-files/gguf/gguf-model.ts";
import {
  float,
  writeGguf,
  type WrittenTensor,
  type WrittenValue,
} from "../src/lib/model-files/testing/write-gguf.ts";
import { readFloats, type StoredTensor } from "../src/lib/model-files/stored-tensor.ts";
import { int64Tensor, type Tensor } from "../src/lib/graph/tensor.ts";
import type { ModelConfig } from "../src/inference/architectures/config.ts";
import { readModelConfig } from "../src/inference/architectures/config/read-config.ts";
import { buildPrefillGraph } from "../src/inference/architectures/serving-graphs.ts";
import { checkWeights, readModelWeights } from "../src/inference/architectures/weights.ts";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";
import { createSession } from "../src/inference/onnx/session.ts";
import { ggufCases } from "./gguf-numbers/cases.ts";
import {
  askedTokens,
  type FamilyName,
  type MatrixType,
  randomTensor,
  vocabularySize,
  writeCase,
} from "./gguf-numbers/gguf-models.ts";
import { recurrenceOf } from "../src/inference/architectures/recurrent/recurrence.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-gguf-numbers-"));
after(() => rmSync(scratch, { recursive: true }));

const recorded = JSON.parse(readFileSync("test/fixtures/gguf/log-probabilities.json", "utf8")) as Readonly<
  Record<string, readonly number[] | null>
>;

/**
 * Maximum mean difference of log-probabilities, by tensor type. It is larger for types with fewer bits, for which
 * llama.cpp rounds activations.
 */
const differenceMax: Readonly<Record<MatrixType, number>> = {
  F32: 1e-3,
  F16: 0.01,
  BF16: 0.1,
  Q8_0: 0.2,
  mixed: 0.2,
};

/** Larger maximum differences of single files. llama.cpp rounds activations, so its router may choose other experts. */
const differenceMaxOf: Readonly<Record<string, number>> = { "gpt-oss-Q8_0": 0.4 };

function folderOf(file: string): string {
  const folder = `${file}-model`;
  writeGgufFolder(file, folder);
  return folder;
}

/**
 * Returns inputs for models with convolutions: the rows of the sequence's last positions. Models with recurrences also
 * get the sequence's length.
 */
function rowEnds(config: ModelConfig, count: number): Readonly<Record<string, Tensor>> {
  const { convolution } = config;
  if (convolution === null) return {};
  const size = convolution.kernelSize - 1;
  return {
    ends: int64Tensor(
      [1, size],
      Array.from({ length: size }, (_, place) => count + place),
    ),
    ...(recurrenceOf(config) !== null && { lengths: int64Tensor([1], [count]) }),
  };
}

/** Returns the log-probability of each next token of the recorded text, computed like a prompt's log-probabilities. */
async function logprobsOf(folder: string): Promise<readonly number[]> {
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const session = await createSession(buildPrefillGraph(config, { lora: null }), { weights, threads: 1 });
  try {
    const count = askedTokens.length;
    const outputs = await session.run({
      tokens: { dtype: "int64", dims: [1, count], data: BigInt64Array.from(askedTokens, BigInt) },
      places: {
        dtype: "int64",
        dims: [count],
        data: BigInt64Array.from({ length: count }, (_, at) => BigInt(at)),
      },
      ...rowEnds(config, count),
    });
    const logits = outputs["logits"];
    assert.ok(logits?.dtype === "float32");
    return askedTokens.slice(1).map((token, at) => {
      const scores = logits.data.subarray(at * vocabularySize, (at + 1) * vocabularySize);
      const most = scores.reduce((one, other) => Math.max(one, other), -Infinity);
      const sum = scores.reduce((total, score) => total + Math.exp(score - most), 0);
      return scores[token] - most - Math.log(sum);
    });
  } finally {
    await session.release();
  }
}

for (const one of ggufCases) {
  test(`${one.name} has llama.cpp's log-probabilities`, async () => {
    const wanted = recorded[one.name];
    assert.ok(wanted !== undefined && wanted !== null, "llama.cpp computes it");
    const found = await logprobsOf(folderOf(writeCase(scratch, one)));
    const difference =
      found.reduce((sum, logprob, at) => sum + Math.abs(logprob - wanted[at]), 0) / found.length;
    assert.ok(
      difference < (differenceMaxOf[one.name] ?? differenceMax[one.type]),
      `log-probabilities differ by ${difference}`,
    );
  });
}

test("every variation changes the results", () => {
  const alike: string[] = [];
  for (const { name, family, type } of ggufCases) {
    const [varied, usual] = [recorded[name], recorded[`${family}-${type}`]];
    assert.ok(varied && usual);
    const difference = Math.max(...varied.map((logprob, at) => Math.abs(logprob - usual[at])));
    if (name !== `${family}-${type}` && difference < 0.01) alike.push(name);
  }
  // These variations only state a default explicitly, so they change nothing.
  assert.deepEqual(alike, [
    "llama-without-theta-factor-0",
    "llama-type-none",
    "llama-yarn-factor-1",
    "llama-lists",
    "granite-without-mamba",
  ]);
});

interface Refusal {
  readonly family: FamilyName;
  readonly keys?: Readonly<Record<string, WrittenValue>>;
  readonly tensors?: readonly WrittenTensor[];
  /** Pattern of the expected error message. */
  readonly message: RegExp;
}

const yarn = { "rope.scaling.type": "yarn", "rope.scaling.factor": float(4) };
const tensor = (name: string, shape: readonly number[]): WrittenTensor => ({
  name,
  shape,
  type: "F32",
  data: randomTensor(name, shape),
});
const refusedBy = (family: FamilyName, key: string, value: WrittenValue, others = {}): Refusal => ({
  family,
  keys: { ...others, [key]: value },
  message: new RegExp(`its \\w+\\.${key.replaceAll(".", "\\.")} is `),
});

const refusals: readonly Refusal[] = [
  refusedBy("llama", "attention.of_tomorrow", 0),
  refusedBy("llama", "rope.of_tomorrow", "none"),
  refusedBy("qwen3", "of_tomorrow", 1),
  refusedBy("llama", "attention.sliding_window", 8),
  refusedBy("qwen2", "attention.sliding_window", 8),
  refusedBy("phi3", "attention.sliding_window_pattern", 4, { "attention.sliding_window": 8 }),
  refusedBy("llama", "rope.dimension_count", 8),
  refusedBy("qwen2", "rope.dimension_count", 8),
  refusedBy("olmo2", "rope.dimension_count", 8),
  refusedBy("gemma3", "rope.dimension_count", 8),
  refusedBy("llama", "rope.dimension_sections", [4, 2, 2, 0]),
  refusedBy("llama", "rope.scaling.type", "dynamic"),
  refusedBy("llama", "rope.scaling.type", "longrope"),
  refusedBy("llama", "rope.scaling.factor", float(-1)),
  refusedBy("llama", "rope.scaling.alpha", float(2)),
  refusedBy("llama", "rope.freq_base_swa", float(500)),
  refusedBy("olmo3", "rope.freq_base_swa", float(500)),
  refusedBy("qwen3", "rope.scaling.yarn_beta_fast", float(4), yarn),
  refusedBy("qwen3", "rope.scaling.yarn_beta_slow", float(4), yarn),
  refusedBy("qwen3", "rope.scaling.yarn_log_multiplier", float(1), yarn),
  refusedBy("qwen3", "rope.scaling.yarn_ext_factor", 0.5, yarn),
  refusedBy("qwen3", "rope.scaling.yarn_attn_factor", float(2), yarn),
  refusedBy("gemma3", "rope.scaling.type", "yarn", { "rope.scaling.factor": float(4) }),
  refusedBy("gemma3", "rope.scaling.attn_factor", 0.5),
  refusedBy("gemma3", "attn_logit_softcapping", float(50)),
  refusedBy("gemma3", "attention.sliding_window_pattern", [true, false]),
  refusedBy("qwen3", "final_logit_softcapping", float(30)),
  refusedBy("llama", "attention.scale", 0.3),
  refusedBy("llama", "attention.clamp_kqv", float(8)),
  refusedBy("llama", "attention.max_alibi_bias", float(8)),
  refusedBy("llama", "attention.causal", false),
  refusedBy("llama", "attention.temperature_scale", 0.1),
  refusedBy("llama", "attention.value_length", 8),
  refusedBy("gemma3", "attention.key_length_swa", 8),
  refusedBy("llama", "attention.head_count_kv", [2, 2, 1, 2]),
  refusedBy("llama", "feed_forward_length", [96, 96, 96, 64]),
  refusedBy("llama", "logit_scale", 0.5),
  refusedBy("llama", "residual_scale", 0.5),
  refusedBy("qwen3", "embedding_scale", float(3)),
  refusedBy("granite", "rope.scaling.finetuned", false),
  refusedBy("llama", "expert_count", 8),
  refusedBy("llama", "tensor_data_layout", "reference"),
  refusedBy("qwen3", "tensor_data_layout", "Meta AI original pth"),
  refusedBy("qwen3", "pooling_type", 1),
  refusedBy("llama", "nextn_predict_layers", 1),
  {
    family: "llama",
    keys: yarn,
    tensors: [tensor("rope_freqs.weight", [8])],
    message: /rope\.scaling\.type is "yarn".*rope_freqs/,
  },
  {
    family: "llama",
    tensors: [tensor("rope_freqs.weight", [4])],
    message: /rope_freqs\.weight has 4 factors/,
  },
  {
    family: "qwen3",
    tensors: [tensor("rope_freqs.weight", [8])],
    message: /rope_freqs\.weight is unknown/,
  },
  {
    family: "llama",
    tensors: [tensor("blk.0.attn_q.scale", [1])],
    message: /blk\.0\.attn_q\.scale is unknown/,
  },
  {
    family: "llama",
    tensors: [tensor("blk.0.ffn_gate.bias", [96])],
    message: /blk\.0\.ffn_gate\.bias is unknown/,
  },
  { family: "llama", keys: { "attention.head_count_kv": 3 }, message: /attention\.head_count_kv/ },
  { family: "llama", keys: { feed_forward_length: 64 }, message: /blk\.0\.ffn_gate\.weight is \[96, 64\]/ },
  { family: "llama", keys: { block_count: 5 }, message: /blk\.4\.attn_norm\.weight is missing/ },
];

test("refuses keys and tensors that would change the results, naming them and the file", () => {
  for (const [index, { family, keys = {}, tensors = [], message }] of refusals.entries()) {
    const file = writeCase(scratch, { name: `refused-${index}`, family, type: "F32", keys, tensors });
    assert.throws(
      () => {
        const folder = folderOf(file);
        checkWeights(folder, readModelConfig(folder));
      },
      (error: Error) => {
        assert.match(error.message, message);
        assert.match(error.message, new RegExp(`refused-${index}\\.gguf`), error.message);
        assert.doesNotMatch(error.message, /config\.json|gguf-model|num_key_value_heads|self_attn/);
        return true;
      },
      `${family} ${JSON.stringify(keys)} ${tensors.map(({ name }) => name).join()}`,
    );
  }
});

test("reads which layers of Qwen3.5 are recurrent from the flags in newer files", async () => {
  // The flags mean the same as the interval in the recorded files. The interval in these files contradicts the flags,
  // and the flags must win.
  for (const family of ["qwen35", "qwen35moe"] as const) {
    const keys = { full_attention_interval: 7, "attention.recurrent_layers": [true, false, true, false] };
    const file = writeCase(scratch, {
      name: `${family}-flags`,
      family,
      type: "F32",
      keys,
      tensors: [],
    });
    const wanted = recorded[`${family}-F32`];
    assert.ok(wanted !== null);
    for (const [at, logprob] of (await logprobsOf(folderOf(file))).entries())
      assert.ok(Math.abs(logprob - wanted[at]) < differenceMax.F32, `${family}, token ${at}`);
  }
});

/** Returns the file's tensors, with queries, keys and values joined as by llama.cpp's converter with `--fuse-qkv`. */
function fused(file: string): readonly WrittenTensor[] {
  const tensors = readGguf(file).tensors;
  const written = (parts: readonly StoredTensor[], name: string): WrittenTensor => {
    const data = Float32Array.from(parts.flatMap((part) => [...readFloats(part)]));
    const rows = parts.reduce((sum, { shape }) => sum + shape[0], 0);
    return { name, shape: [rows, ...parts[0].shape.slice(1)], type: "F32", data };
  };
  return [...tensors.values()].flatMap((tensor) => {
    const name = tensor.name.replace(/\.attn_[qkv]\.(weight|bias)$/, ".attn_qkv.$1");
    if (name === tensor.name) return [written([tensor], name)];
    const parts = ["q", "k", "v"].map((letter) => tensors.get(name.replace("_qkv.", `_${letter}.`)));
    const whole = parts.filter((part) => part !== undefined);
    if (whole.length < 3) return [written([tensor], tensor.name)];
    return tensor.name.includes("attn_q.") ? [written(whole, name)] : [];
  });
}

const fusedFamilies = ["llama", "qwen2", "granite", "olmo2", "lfm2", "qwen35", "gpt-oss", "gemma4"] as const;

for (const family of fusedFamilies) {
  test(`${family} has the same log-probabilities from fused projections of queries, keys and values`, async () => {
    const file = writeCase(scratch, { name: "separate", family, type: "F32", keys: {}, tensors: [] });
    const { metadata, valueTypes } = readGguf(file);
    const other = join(scratch, `fused-${family}.gguf`);
    const typed = [...metadata].map(([key, value]) => [
      key,
      valueTypes.get(key) === "float32" && typeof value === "number" ? float(value) : value,
    ]);
    const tensors = fused(file);
    assert.ok(tensors.some(({ name }) => name.endsWith(".attn_qkv.weight")));
    writeGguf(other, { metadata: Object.fromEntries(typed) as Record<string, WrittenValue>, tensors });
    assert.deepEqual(await logprobsOf(folderOf(other)), await logprobsOf(folderOf(file)));
  });
}

test("ends answers at the tokens at which llama.cpp ends them, whose texts become control tokens", async () => {
  const check = async (texts: readonly string[]): Promise<readonly (readonly number[])[]> => {
    const first = writeCase(scratch, { name: "ends", family: "llama", type: "F32", keys: {}, tensors: [] });
    const tokens = readGguf(first).metadata.get("tokenizer.ggml.tokens") as string[];
    const named = tokens.map((token, id) => texts[id - 10] ?? (id === 258 ? "last" : token));
    const tokenizer = {
      "tokenizer.ggml.tokens": named,
      "tokenizer.ggml.token_type": named.map(() => 1),
      "tokenizer.ggml.merges": [],
    };
    const one = { name: "ends", family: "llama", type: "F32", keys: {}, tensors: [], tokenizer } as const;
    const folder = folderOf(writeCase(scratch, one));
    const loaded = await loadTokenizer(folder);
    return [
      readModelConfig(folder).endOfTextIds,
      ...texts.map((text) => loaded.encode(text, { addSpecialTokens: false })),
    ];
  };
  assert.deepEqual(await check(["<turn|>", "<|im_end|>"]), [[258, 10, 11], [10], [11]]);
  // In gpt-oss's tokenizer, `<|end|>` ends a message but not the answer.
  assert.deepEqual((await check(["<|end|>"]))[0], [258, 10]);
  assert.deepEqual((await check(["<|end|>", "<|return|>", "<|call|>"]))[0], [258, 11, 12]);
});

test("refuses a hybrid model whose converter knew no layer with attention, and says what to do", () => {
  const keys = { "attention.head_count_kv": [0, 0, 0, 0] };
  const one = { name: "none", family: "granitehybrid", type: "F32", keys, tensors: [] } as const;
  assert.throws(() => folderOf(writeCase(scratch, one)), {
    code: "unsupported",
    message: /head_count_kv is \[0,0,0,0\]: no layer has attention, .*convert the model again/,
  });
});

test("ignores unused tokens beyond the embedding, which converters add to fill up the list", async () => {
  const first = writeCase(scratch, { name: "filled", family: "llama", type: "F32", keys: {}, tensors: [] });
  const { metadata } = readGguf(first);
  const tokens = [...(metadata.get("tokenizer.ggml.tokens") as string[]), "[PAD259]", "[PAD260]"];
  const kinds = [...(metadata.get("tokenizer.ggml.token_type") as number[]), 5, 5];
  const tokenizer = { "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds };
  const one = { name: "filled", family: "llama", type: "F32", keys: {}, tensors: [], tokenizer } as const;
  const folder = folderOf(writeCase(scratch, one));
  assert.deepEqual(await logprobsOf(folder), await logprobsOf(folderOf(first)));
});

test("refuses tokens beyond the embedding, and blocks of another version", () => {
  const check = (type: MatrixType, tokenizer: Readonly<Record<string, WrittenValue>>): string =>
    folderOf(writeCase(scratch, { name: "other", family: "llama", type, keys: {}, tensors: [], tokenizer }));
  const tokens = Array.from({ length: vocabularySize + 1 }, (_, id) => `token${id}`);
  assert.throws(
    () => check("F32", { "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": tokens.map(() => 1) }),
    { message: /other\.gguf .*it has 260 tokens, and its token_embd\.weight is \[259, 64\]/ },
  );
  const older = { "general.quantization_version": 1 };
  assert.throws(() => check("Q8_0", older), {
    message: /general\.quantization_version is 1: blocks of version 2/,
  });
  check("F16", older);
});

test("reports a file's architecture before any fault of its tokenizer", () => {
  const served =
    "llama, mistral3, qwen2, qwen3, granite, smollm3, phi3, olmo2, lfm2, qwen35, qwen3moe, gpt-oss, qwen35moe, granitehybrid, nemotron_h, gemma3, gemma4 are served from GGUF files";
  const cases: readonly (readonly [Readonly<Record<string, WrittenValue>>, RegExp])[] = [
    ...["lfm2moe", "deepseek2", "glm4", "gemma3n", "hunyuan-dense", "constructor"].map(
      (name) =>
        [
          { "general.architecture": name },
          new RegExp(`its architecture is ${name}; ${served}\\. .*vLLM`),
        ] as const,
    ),
    [{ "general.architecture": "clip", "general.type": "mmproj" }, /\(mmproj\) and holds no language model/],
    [{ "general.architecture": "clip" }, /\(mmproj\) and holds no language model/],
    [{ "general.architecture": "llama", "general.type": "adapter" }, /it is a LoRA adapter for llama/],
    [{ "general.architecture": "llama", "general.type": "imatrix" }, /its general\.type is imatrix/],
    [{ "general.name": "nothing" }, /it has no general\.architecture/],
  ];
  for (const [metadata, message] of cases) {
    const file = join(scratch, "other.gguf");
    writeGguf(file, { metadata, tensors: [] });
    assert.throws(() => folderOf(file), { code: "unsupported", message });
  }
});

test("refuses ids of nonexistent tokens where they matter, and ignores them elsewhere", () => {
  const checkIds = (ids: Readonly<Record<string, WrittenValue>>): string => {
    const file = writeCase(scratch, {
      name: "ids",
      family: "llama",
      type: "F32",
      keys: {},
      tensors: [],
      tokenizer: ids,
    });
    return folderOf(file);
  };
  const missing = 100_000;
  assert.throws(
    () => checkIds({ "tokenizer.ggml.bos_token_id": missing, "tokenizer.ggml.add_bos_token": true }),
    { code: "unsupported", message: /tokenizer\.ggml\.bos_token_id is 100000: the file has 259 tokens/ },
  );
  assert.throws(() => checkIds({ "tokenizer.ggml.eos_token_id": missing }), {
    message: /tokenizer\.ggml\.eos_token_id is 100000/,
  });
  const folder = checkIds({
    "tokenizer.ggml.bos_token_id": missing,
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.ggml.padding_token_id": 2 ** 32 - 1,
    "tokenizer.ggml.eot_token_id": missing,
  });
  const read = (name: string): object => JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  const config = read("config.json");
  assert.deepEqual({ ...config, bos_token_id: null, pad_token_id: null, eos_token_id: 258 }, config);
  assert.deepEqual(read("generation_config.json"), { eos_token_id: [258] });
});

test("a token that occurs twice in the list has its text under both ids", async () => {
  const first = writeCase(scratch, { name: "twice", family: "llama", type: "F32", keys: {}, tensors: [] });
  const tokens = readGguf(first).metadata.get("tokenizer.ggml.tokens") as string[];
  const repeated = tokens.map((token, id) => (id === 5 ? "th" : token));
  const file = writeCase(scratch, {
    name: "twice",
    family: "llama",
    type: "F32",
    keys: {},
    tensors: [],
    tokenizer: { "tokenizer.ggml.tokens": repeated },
  });
  const tokenizer = await loadTokenizer(folderOf(file));
  assert.deepEqual(
    [5, 256].map((id) => tokenizer.decode([id], { skipSpecialTokens: true })),
    ["th", "th"],
  );
  assert.deepEqual(tokenizer.encode("th", { addSpecialTokens: false }), [256]);
  assert.equal(tokenizer.vocabularySize, 259);
});

test("accepts keys that have no effect", () => {
  const harmless = {
    "attention.sliding_window": 256,
    "attention.value_length": 16,
    "attention.causal": true,
    "attention.clamp_kqv": float(0),
    vocab_size: vocabularySize,
    expert_count: 0,
    logit_scale: float(1),
    "rope.scaling.finetuned": false,
    "rope.freq_base_swa": float(10_000),
    tensor_data_layout: "Meta AI original pth",
    pooling_type: 3,
  };
  const file = writeCase(scratch, {
    name: "harmless",
    family: "llama",
    type: "F32",
    keys: harmless,
    tensors: [],
  });
  const folder = folderOf(file);
  checkWeights(folder, readModelConfig(folder));
});
