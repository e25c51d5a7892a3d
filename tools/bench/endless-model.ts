// Model folders for benchmarks. Their end-of-text token is one that the model never samples, so answers always reach
// their maximum length.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { seededRandom } from "../../src/base/domain/random.ts";
import { readModelConfig } from "../../src/inference/architectures/config/read-config.ts";
import { isNormWeight, modelParameters } from "../../src/inference/architectures/parameters.ts";
import { writeSafetensors } from "../../src/lib/model-files/write-safetensors.ts";
import { llama135m, llama135mFile } from "./llama-135m.ts";
import { ownFolder } from "./run-bench.ts";

const random = seededRandom("weights");
/** Random weights to repeat. Their count is prime, so that no two rows of a tensor are equal. */
const randomNumbers = Float32Array.from({ length: 1_000_003 }, () => 0.07 * (random.uniform() - 0.5));

const builtInModel = join(ownFolder, "models", "hone-tiny");

/** Vocabulary size of the built-in model. */
export const { vocabularySize: endlessVocabularySize } = readModelConfig(builtInModel);

/** Creates a copy of the built-in model that never stops; delete it with {@link removeModel}. */
export function endlessModel(): string {
  const folder = join(mkdtempSync(join(tmpdir(), "hone-bench-")), "model");
  cpSync(builtInModel, folder, { recursive: true });
  for (const [name, field, value] of [
    ["config.json", "eos_token_id", 1],
    ["generation_config.json", "eos_token_id", 1],
    ["tokenizer_config.json", "eos_token", "<|im_start|>"],
  ] as const) {
    changeJson(join(folder, name), { [field]: value });
  }
  return folder;
}

/**
 * Creates a Llama model with 135 million random weights. Its tokenizer extends the built-in model's with made-up words,
 * which occur in answers but not in prompts. The end-of-text token is one of 49,152 about equally probable tokens, so
 * it is hardly ever sampled.
 */
export function endlessLlama135m(): string {
  const folder = endlessModel();
  const config = llama135m();
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...llama135mFile, eos_token_id: 1 }));
  const file = join(folder, "tokenizer.json");
  const tokenizer = JSON.parse(readFileSync(file, "utf8")) as {
    readonly model: { readonly vocab: Record<string, number> };
  };
  const { vocab } = tokenizer.model;
  let size = Object.keys(vocab).length;
  for (const word of madeUpWords(config.vocabularySize)) {
    if (size === config.vocabularySize) break;
    if (vocab[word] !== undefined) continue;
    vocab[word] = size;
    size += 1;
  }
  writeFileSync(file, JSON.stringify(tokenizer));
  const tensors = modelParameters(config).map(({ name, shape }, index) => {
    const size = shape.reduce((product, length) => product * length, 1);
    const data = isNormWeight(name) ? new Float32Array(size).fill(1) : repeatedNumbers(size, 1009 * index);
    return { name, shape, data };
  });
  writeSafetensors(join(folder, "model.safetensors"), tensors, { type: "F32" });
  return folder;
}

/**
 * Returns random weights by repeating the same numbers, beginning at the number `first`. It differs between tensors,
 * because the runtime would store equal tensors only once. Drawing a random number for each weight would take minutes.
 */
function repeatedNumbers(size: number, first: number): Float32Array {
  const numbers = new Float32Array(size);
  for (let start = -first; start < size; start += randomNumbers.length) {
    const from = Math.max(0, -start);
    const count = Math.min(randomNumbers.length - from, size - start - from);
    numbers.set(randomNumbers.subarray(from, from + count), start + from);
  }
  return numbers;
}

export function removeModel(folder: string): void {
  rmSync(dirname(folder), { recursive: true, force: true });
}

/** Yields words made of syllables in the spelling of byte-level tokenizers; every other word has a leading space. */
function* madeUpWords(count: number): Generator<string, void> {
  const starts = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
  const ends = ["a", "e", "i", "o", "u", "an", "en", "in", "on", "er", "al", "ing"];
  const syllables = starts.flatMap((start) => ends.map((end) => start + end));
  for (let index = 0; index < 2 * count; index++) {
    const first = syllables[index % syllables.length];
    const rest = Math.floor(index / syllables.length);
    const second = syllables[rest % syllables.length];
    const third = rest < syllables.length ? "" : syllables[Math.floor(rest / syllables.length)];
    yield first + second + third;
    yield `Ġ${first}${second}${third}`;
  }
}

function changeJson(file: string, changes: object): void {
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...changes }));
}
