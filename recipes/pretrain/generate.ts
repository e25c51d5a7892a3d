// Answers many prompts at once by plain prefill and decoding over the serving graphs: enough to measure a model.
// It keeps every row until the last one is done; serving proper is the engine's affair.
import { present } from "../../src/domain/assert.ts";
import type { Random } from "../../src/domain/random.ts";
import { float32Data, type Tensor } from "../../src/graph/tensor.ts";
import type { ModelConfig } from "../../src/model/config.ts";
import { buildDecodeGraph, buildPrefillGraph, cacheNames } from "../../src/model/serving-graphs.ts";
import type { WeightSource } from "../../src/model/weights.ts";
import { createSession, type Session } from "../../src/runtime/session.ts";

export interface GenerateOptions {
  readonly tokenCountMax: number;
  /** 0 is greedy; above 0 needs `random`. */
  readonly temperature: number;
  readonly random?: Random;
}

export interface Generator {
  /** The answers' tokens, without the one that ended them; in the order of the prompts. */
  generate(
    prompts: readonly (readonly number[])[],
    options: GenerateOptions,
  ): Promise<readonly (readonly number[])[]>;
  close(): Promise<void>;
}

const rowsMax = 64;

/** Builds the two sessions of a model. */
export async function createGenerator(
  config: ModelConfig,
  weights: ReadonlyMap<string, WeightSource>,
  options: { readonly threads: number },
): Promise<Generator> {
  const prefill = await createSession(buildPrefillGraph(config, { lora: null }), { weights, ...options });
  const decode = await createSession(buildDecodeGraph(config, { lora: null }), {
    weights,
    ...options,
  });
  return {
    generate: async (prompts, generateOptions) => {
      const answers: (readonly number[])[] = [];
      for (let start = 0; start < prompts.length; start += rowsMax) {
        const run = new Run(config, prompts.slice(start, start + rowsMax), generateOptions);
        answers.push(...(await run.answer(prefill, decode)));
      }
      return answers;
    },
    close: async () => {
      await prefill.release();
      await decode.release();
    },
  };
}

/** One batch of prompts with its cache. */
class Run {
  readonly #config: ModelConfig;
  readonly #prompts: readonly (readonly number[])[];
  readonly #options: GenerateOptions;
  readonly #capacity: number;
  readonly #lengths: number[];
  /** By input name of the decode graph; [B, Hkv, C, K]. */
  readonly #cache: ReadonlyMap<string, Float32Array>;

  constructor(config: ModelConfig, prompts: readonly (readonly number[])[], options: GenerateOptions) {
    this.#config = config;
    this.#prompts = prompts;
    this.#options = options;
    this.#capacity = Math.max(...prompts.map((prompt) => prompt.length)) + options.tokenCountMax;
    this.#lengths = prompts.map(() => 0);
    const size = prompts.length * config.kvHeadCount * this.#capacity * config.headSize;
    const names = config.layers.flatMap((_, layer) => [cacheNames(layer).keys, cacheNames(layer).values]);
    this.#cache = new Map(names.map((name) => [name, new Float32Array(size)]));
  }

  async answer(prefill: Session, decode: Session): Promise<readonly (readonly number[])[]> {
    const answers = this.#prompts.map((): number[] => []);
    const isDone = this.#prompts.map(() => false);
    let next = await this.#prefill(prefill);
    for (let count = 0; count < this.#options.tokenCountMax; count++) {
      for (const [row, token] of next.entries()) {
        if (this.#config.endOfTextIds.includes(token)) isDone[row] = true;
        if (!isDone[row]) answers[row]?.push(token);
      }
      if (isDone.every(Boolean) || count + 1 === this.#options.tokenCountMax) break;
      next = await this.#decode(decode, next);
    }
    return answers;
  }

  async #prefill(session: Session): Promise<readonly number[]> {
    const counts = this.#prompts.map((prompt) => prompt.length);
    const length = Math.max(...counts);
    const tokens = new BigInt64Array(counts.length * length);
    for (const [row, prompt] of this.#prompts.entries()) tokens.set(prompt.map(BigInt), row * length);
    const outputs = await session.run({
      tokens: { dtype: "int64", dims: [counts.length, length], data: tokens },
      places: {
        dtype: "int64",
        dims: [counts.length],
        data: BigInt64Array.from(counts, (count, row) => BigInt(row * length + count - 1)),
      },
    });
    this.#keep(outputs, length, counts);
    return this.#choose(outputs);
  }

  async #decode(session: Session, tokens: readonly number[]): Promise<readonly number[]> {
    const { kvHeadCount, headSize } = this.#config;
    const rowCount = tokens.length;
    const feeds: Record<string, Tensor> = {
      tokens: { dtype: "int64", dims: [rowCount, 1], data: BigInt64Array.from(tokens, BigInt) },
      past_lengths: { dtype: "int64", dims: [rowCount], data: BigInt64Array.from(this.#lengths, BigInt) },
    };
    for (const [name, data] of this.#cache) {
      feeds[name] = { dtype: "float32", dims: [rowCount, kvHeadCount, this.#capacity, headSize], data };
    }
    const outputs = await session.run(feeds);
    this.#keep(
      outputs,
      1,
      tokens.map(() => 1),
    );
    return this.#choose(outputs);
  }

  /** Copies new keys and values behind the old ones; of `length` computed positions, `counts` are real. */
  #keep(outputs: Readonly<Record<string, Tensor>>, length: number, counts: readonly number[]): void {
    const { kvHeadCount, headSize, layers } = this.#config;
    for (const layer of layers.keys()) {
      const names = cacheNames(layer);
      for (const [from, to] of [
        [names.newKeys, names.keys],
        [names.newValues, names.values],
      ] as const) {
        const source = float32Data(outputs[from]);
        const target = present(this.#cache.get(to), to);
        for (const [row, count] of counts.entries()) {
          for (let head = 0; head < kvHeadCount; head++) {
            const block = row * kvHeadCount + head;
            const start = block * length * headSize;
            const place = (block * this.#capacity + (this.#lengths[row] ?? 0)) * headSize;
            target.set(source.subarray(start, start + count * headSize), place);
          }
        }
      }
    }
    for (const [row, count] of counts.entries()) this.#lengths[row] = (this.#lengths[row] ?? 0) + count;
  }

  #choose(outputs: Readonly<Record<string, Tensor>>): readonly number[] {
    const { vocabularySize } = this.#config;
    const logits_BV = float32Data(outputs["logits"]);
    return this.#prompts.map((_, row) => {
      const logits_V = logits_BV.subarray(row * vocabularySize, (row + 1) * vocabularySize);
      if (this.#options.temperature === 0) return greatest(logits_V);
      return sample(
        logits_V,
        this.#options.temperature,
        present(this.#options.random, "a source of randomness"),
      );
    });
  }
}

function greatest(logits_V: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits_V.length; id++) if (logits_V[id] > logits_V[best]) best = id;
  return best;
}

/** Adds Gumbel noise and takes the greatest: a draw from the softmax. */
function sample(logits_V: Float32Array, temperature: number, random: Random): number {
  return greatest(
    logits_V.map((logit) => logit / temperature - Math.log(-Math.log(random.uniform() + 1e-300))),
  );
}
