// The sessions of a model's serving graphs, created in advance or at their first use. Sessions use arranged weights
// (`arranged-cache.ts`), because with other weights a row could get different numbers in different batches. The one
// exception is a session that multiplies only 8-bit codes, whose sums are exact.
import { unreachable } from "../../../base/domain/assert.ts";
import type { Device } from "../../../base/domain/model.ts";
import type { Graph, OpKind } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import type { LoraForm } from "../../architectures/lora.ts";
import {
  buildContinuationGraph,
  buildDecodeGraph,
  buildDraftGraph,
  buildPrefillGraph,
  type ServingOptions,
} from "../../architectures/serving-graphs.ts";
import { buildPairedGraph } from "../../architectures/serving/paired-graph.ts";
import { buildReplayGraph } from "../../architectures/serving/replay-graph.ts";
import type { WeightForms } from "../../architectures/quantized/weight-forms.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { createSession, type Session } from "../../onnx/session.ts";
import { recurrenceOf } from "../../architectures/recurrent/recurrence.ts";

/**
 * Kinds of graphs: first parts of prompts, several later parts, one later part, one token per row, several draft tokens
 * per row, the states after some draft tokens, and one token per row over two caches.
 */
export type GraphKind = "first" | "later" | "later-single" | "token" | "drafts" | "replay" | "pair";

/** Form in which a graph takes the matrices of an adapter; null if the graph takes none. */
type Lora = LoraForm | null;

export interface SessionsOptions {
  readonly config: ModelConfig;
  /** Sources of all parameters of the graphs. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  /** Forms in which the weights are stored; float32 if absent. */
  readonly forms?: WeightForms;
  readonly threads: number;
  /** True if steps with drafts are possible, so that their graphs are prepared too. */
  readonly takesDrafts?: boolean;
  /** Compute device; the CPU if absent. */
  readonly device?: Device;
}

/** Graphs that every request needs, by the kind of their session. */
export type GraphsOfEveryRequest = Readonly<Record<"token" | "first", Graph>>;

/** Builds the graphs that every request needs, for the model without an adapter. */
export function graphsOfEveryRequest({
  config,
  forms,
}: Pick<SessionsOptions, "config" | "forms">): GraphsOfEveryRequest {
  const options = { lora: null, forms };
  return { token: graphOf("token", config, options), first: graphOf("first", config, options) };
}

export class ServingSessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #made = new Set<string>();
  /** Session for first parts of prompts over weights that are not arranged; null if there is none. */
  #unarranged: Session | null = null;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Creates the sessions that every request needs, from {@link graphsOfEveryRequest}.
   *
   * @param arrangesLater if true, and results have the same bits, the session for first parts of prompts reads weights
   * that are not arranged. This halves the time of a start, but makes short prompts about twice as slow, until the
   * first of {@link ServingSessions.furtherTasks} replaces the session.
   */
  async prepare(
    { token, first }: GraphsOfEveryRequest,
    { arrangesLater = false }: { readonly arrangesLater?: boolean } = {},
  ): Promise<void> {
    await this.#keep(nameOf("token", null), this.#create(token));
    if (!arrangesLater || !multipliesOnlyCodes(first)) {
      await this.#keep(nameOf("first", null), this.#create(first));
      return;
    }
    this.#unarranged = await this.#keep(
      nameOf("first", null),
      this.#create(first, { prepackWeights: false }),
    );
  }

  /** True if requests may use graphs of this kind. Models with recurrences have no pairs of lanes. */
  #isUsed(kind: GraphKind): boolean {
    const { config, takesDrafts = false } = this.#options;
    const hasRecurrence = recurrenceOf(config) !== null;
    if (kind === "drafts") return takesDrafts;
    if (kind === "replay") return takesDrafts && hasRecurrence;
    return kind !== "pair" || !hasRecurrence;
  }

  /**
   * Returns tasks that each create a session needed only by some requests. Sessions for adapters of high rank are
   * created only when such an adapter is used.
   */
  furtherTasks(): readonly (() => Promise<unknown>)[] {
    const kinds: readonly (readonly [GraphKind, Lora])[] = [
      ["token", "whole"],
      ["first", "whole"],
      ["later", null],
      ["later", "whole"],
      ["later-single", null],
      ["later-single", "whole"],
      ["replay", null],
      ["drafts", null],
      ["drafts", "whole"],
      ["pair", null],
      ["pair", "whole"],
    ];
    const wanted = kinds.filter(([kind]) => this.#isUsed(kind));
    const arranging = [() => this.#arrangeFirst(), () => this.#releaseUnarranged()];
    return [
      ...(this.#unarranged === null ? [] : arranging),
      ...wanted.map(
        ([kind, lora]) =>
          () =>
            this.get(kind, lora),
      ),
    ];
  }

  async #arrangeFirst(): Promise<void> {
    const { config, forms } = this.#options;
    const arranged = await this.#create(graphOf("first", config, { lora: null, forms }));
    this.#sessions.set(nameOf("first", null), Promise.resolve(arranged));
  }

  /** Must not run in the same idle moment as the replacement, because a call may still use the session. */
  async #releaseUnarranged(): Promise<void> {
    const session = this.#unarranged;
    this.#unarranged = null;
    await session?.release();
  }

  /** True if the session exists, so that a call need not wait for its creation. */
  has(kind: GraphKind, lora: Lora): boolean {
    return this.#made.has(nameOf(kind, lora));
  }

  /** Returns tasks that each create a session for adapters of this form. */
  tasksOf(lora: LoraForm): readonly (() => Promise<unknown>)[] {
    const drafts = this.#isUsed("drafts") ? (["drafts"] as const) : [];
    const kinds = ["token", "first", "later", ...drafts] as const;
    return kinds.map((kind) => () => this.get(kind, lora));
  }

  /**
   * Returns a session; creates it if necessary.
   *
   * @throws ServiceError `internal` if the session cannot be created; the next call tries again
   */
  get(kind: GraphKind, lora: Lora): Promise<Session> {
    const name = nameOf(kind, lora);
    const { config, forms } = this.#options;
    return this.#sessions.get(name) ?? this.#keep(name, this.#create(graphOf(kind, config, { lora, forms })));
  }

  #create(graph: Graph, { prepackWeights = true } = {}): Promise<Session> {
    const { weights, threads, device } = this.#options;
    // Sessions keep no memory between runs. They run one after another with varying sizes, and memory that one session
    // kept would not be available to the others.
    const memory = { plansMemory: false, keepsMemory: false };
    return createSession(graph, { weights, threads, device, prepackWeights, ...memory });
  }

  #keep(name: string, making: Promise<Session>): Promise<Session> {
    this.#sessions.set(name, making);
    making.then(
      () => this.#made.add(name),
      () => this.#sessions.delete(name),
    );
    return making;
  }

  async close(): Promise<void> {
    const sessions = await Promise.all(this.#sessions.values());
    if (this.#unarranged !== null) sessions.push(this.#unarranged);
    for (const session of new Set(sessions)) await session.release();
    this.#sessions.clear();
  }
}

/** Operations whose results may have other bits if the runtime has arranged the weights that they multiply. */
const arrangedKinds: ReadonlySet<OpKind> = new Set(["matMul", "gemm", "int4MatMul", "expertMatMul"]);

/**
 * True if weights are only multiplied as 8-bit codes. Sums of such products are exact, so results have the same bits
 * whether or not the weights are arranged.
 */
function multipliesOnlyCodes({ nodes, parameters }: Graph): boolean {
  /** Values that depend only on weights. The runtime computes and arranges them when it loads the graph. */
  const fixed = new Set(parameters.map(({ value }) => value.id));
  for (const { kind, inputs, outputs } of nodes) {
    const isFixed = inputs.map(({ id }) => fixed.has(id));
    if (isFixed.length > 0 && isFixed.every(Boolean)) for (const { id } of outputs) fixed.add(id);
    else if (arrangedKinds.has(kind) && isFixed.includes(true)) return false;
  }
  return true;
}

function nameOf(kind: GraphKind, lora: Lora): string {
  return `${kind} ${lora ?? "base"}`;
}

function graphOf(kind: GraphKind, config: ModelConfig, options: ServingOptions): Graph {
  switch (kind) {
    case "first":
      return buildPrefillGraph(config, options);
    case "later":
      return buildContinuationGraph(config, options);
    case "later-single":
      return buildContinuationGraph(config, options, 1);
    case "token":
      return buildDecodeGraph(config, options);
    case "drafts":
      return buildDraftGraph(config, options);
    case "replay":
      return buildReplayGraph(config);
    case "pair":
      return buildPairedGraph(config, options);
    default:
      return unreachable(kind);
  }
}
