// The sessions of a model's serving graphs: which there are, when they are made, and which keep weights of their own.
// A session is made at its first use unless that was done before; what goes through it is not known here.
import { unreachable } from "../domain/assert.ts";
import type { Graph } from "../graph/graph.ts";
import type { ModelConfig } from "../model/config.ts";
import type { LoraForm } from "../model/lora.ts";
import { modelParameters } from "../model/parameters.ts";
import {
  buildContinuationGraph,
  buildDecodeGraph,
  buildPrefillGraph,
  type ServingOptions,
} from "../model/serving-graphs.ts";
import type { WeightSource } from "../graph/weight-source.ts";
import { createSession, type Session } from "../runtime/session.ts";

/** First parts of prompts, later parts, and one token a row. */
export type GraphKind = "first" | "later" | "token";

/** In which form a graph takes an adapter; null takes none. */
type Lora = LoraForm | null;

export interface SessionsOptions {
  readonly config: ModelConfig;
  /** For every parameter of the graphs. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  readonly threads: number;
}

/** Weights beyond this are not copied for graphs that do well without. */
const largeModelBytes = 256 * 1024 * 1024;

export class ServingSessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #isLarge: boolean;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const weightCount = modelParameters(options.config).reduce(
      (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
      0,
    );
    this.#isLarge = weightCount * Float32Array.BYTES_PER_ELEMENT > largeModelBytes;
  }

  /** Makes what every request needs. */
  async prepare(): Promise<void> {
    await this.get("token", null);
    await this.get("first", null);
  }

  /**
   * Each makes a session that some requests need, those of adapters first. The rest stays for its first use: adapters of
   * great rank, and of large models what would take another copy of the weights for long prompts alone.
   */
  furtherTasks(): readonly (() => Promise<unknown>)[] {
    const kinds: readonly (readonly [GraphKind, Lora])[] = [
      ["token", "whole"],
      ["first", "whole"],
      ...(this.#isLarge
        ? []
        : ([
            ["later", null],
            ["later", "whole"],
          ] as const)),
    ];
    return kinds.map(
      ([kind, lora]) =>
        () =>
          this.get(kind, lora),
    );
  }

  /** @throws ServiceError `internal` when it cannot be made; the next call tries again */
  get(kind: GraphKind, lora: Lora): Promise<Session> {
    const name = `${kind} ${lora ?? "base"}`;
    const made = this.#sessions.get(name);
    if (made !== undefined) return made;
    const { config, weights, threads } = this.#options;
    const making = createSession(graphOf(kind, config, { lora }), {
      weights,
      threads,
      prepackWeights: this.isPrepacked(kind, lora),
    });
    this.#sessions.set(name, making);
    making.catch(() => this.#sessions.delete(name));
    return making;
  }

  /**
   * Whether a session keeps its own arranged copy of the weights also of a large model: where rows of several requests
   * meet, since only arranged weights give a row the same numbers alone and among others. The rest goes without the copy.
   */
  isPrepacked(kind: GraphKind, lora: Lora): boolean {
    return !this.#isLarge || kind === "token" || lora === null;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await (await session).release();
    this.#sessions.clear();
  }
}

function graphOf(kind: GraphKind, config: ModelConfig, options: ServingOptions): Graph {
  switch (kind) {
    case "first":
      return buildPrefillGraph(config, options);
    case "later":
      return buildContinuationGraph(config, options);
    case "token":
      return buildDecodeGraph(config, options);
    default:
      return unreachable(kind);
  }
}
