// The sessions of a model's serving graphs, created in advance or at their first use. Sessions use arranged weights
// (`arranged-cache.ts`), because with other weights a row could get different numbers in different batches. Sessions
// that multiply only 8-bit codes, whose sums are exact, do without until idle work replaces them.
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
import type { IdleTask } from "../idle-work.ts";
import type { LateWeights } from "./late-weights.ts";
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

/** Ways to make a start faster, at the cost of idle work afterwards. */
export interface PrepareOptions {
  /**
   * If true, and results have the same bits, the session for first parts of prompts reads weights that are not arranged.
   * This halves the time of a start, but makes short prompts about twice as slow, until idle work replaces the session.
   */
  readonly arrangesLater?: boolean;
  /**
   * Arranged weights that are not written yet. Until then, sessions read weights that are not arranged. If they would
   * have other bits, the session for single tokens has a private copy, and others wait.
   */
  readonly late?: LateWeights | null;
}

export class ServingSessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Promise<Session>>();
  readonly #made = new Set<string>();
  #weights: SessionsOptions["weights"];
  #late: LateWeights | null = null;
  /** Names of the sessions that idle work replaces by sessions that map arranged weights. */
  readonly #provisional = new Set<string>();
  /** Sessions that were replaced. A call may still use them until the next idle moment. */
  #replaced: Session[] = [];

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#weights = options.weights;
  }

  /** Creates the sessions that every request needs, from {@link graphsOfEveryRequest}. */
  async prepare(
    graphs: GraphsOfEveryRequest,
    { arrangesLater = false, late = null }: PrepareOptions = {},
  ): Promise<void> {
    this.#late = late;
    const [token, first] = [nameOf("token", null), nameOf("first", null)];
    if (late !== null) this.#provisional.add(token);
    const needsArranged = late === null || !multipliesOnlyCodes(graphs.token);
    await this.#keep(token, this.#create(graphs.token, { prepackWeights: needsArranged }));
    const isUnarranged = (arrangesLater || late !== null) && startsUnarranged(graphs);
    if (isUnarranged) this.#provisional.add(first);
    await this.#keep(first, this.#create(graphs.first, { prepackWeights: !isUnarranged }));
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
   * Returns urgent tasks for idle work: they write arranged weights that are not written yet, and replace the sessions
   * that do without them. Until then, requests are slower, or the engine needs more memory.
   */
  urgentTasks(): readonly IdleTask[] {
    const late = this.#late;
    if (late === null) return [];
    return [(untilIdle) => this.#take(late.written(untilIdle)), ...this.#replacing()];
  }

  /** Returns tasks that replace the sessions of every request that do without arranged weights. */
  #replacing(): readonly IdleTask[] {
    const kinds = (["token", "first"] as const).filter((kind) => this.#provisional.has(nameOf(kind, null)));
    return kinds.map((kind) => this.#taskOf(kind, null));
  }

  /**
   * Returns tasks for idle work: they replace sessions that do without arranged weights, and create sessions needed only
   * by some requests. Sessions for adapters of high rank are created only when such an adapter is used.
   */
  furtherTasks(): readonly IdleTask[] {
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
    return [
      ...(this.#late === null ? this.#replacing() : []),
      ...kinds.filter(([kind]) => this.#isUsed(kind)).map(([kind, lora]) => this.#taskOf(kind, lora)),
      () => this.#releaseReplaced(),
    ];
  }

  /** Returns a task that creates a session, or replaces it if it does without arranged weights. */
  #taskOf(kind: GraphKind, lora: Lora): IdleTask {
    return async () => {
      await this.#releaseReplaced();
      const name = nameOf(kind, lora);
      const { config, forms } = this.#options;
      const provisional = this.#provisional.has(name) ? await this.#sessions.get(name) : undefined;
      if (provisional === undefined || this.#late !== null) {
        await this.get(kind, lora);
        return;
      }
      const session = await this.#create(graphOf(kind, config, { lora, forms }));
      this.#provisional.delete(name);
      this.#sessions.set(name, Promise.resolve(session));
      this.#replaced.push(provisional);
    };
  }

  /** Must not run in the same idle moment as a replacement, because a call may still use the session. */
  async #releaseReplaced(): Promise<void> {
    const sessions = this.#replaced;
    this.#replaced = [];
    for (const session of sessions) await session.release();
  }

  /** Makes sessions that are created from now on map the arranged weights. */
  async #take(written: Promise<SessionsOptions["weights"]>): Promise<void> {
    this.#weights = await written;
    this.#late = null;
  }

  /** True if the session exists, so that a call need not wait for its creation. */
  has(kind: GraphKind, lora: Lora): boolean {
    return this.#made.has(nameOf(kind, lora));
  }

  /** Returns tasks that each create a session for adapters of this form. */
  tasksOf(lora: LoraForm): readonly IdleTask[] {
    return this.#kindsOfAdapters().map((kind) => this.#taskOf(kind, lora));
  }

  /** Creates all sessions for adapters of this form. */
  async prepareAdapters(lora: LoraForm): Promise<void> {
    for (const kind of this.#kindsOfAdapters()) await this.get(kind, lora);
  }

  #kindsOfAdapters(): readonly GraphKind[] {
    return ["token", "first", "later", ...(this.#isUsed("drafts") ? (["drafts"] as const) : [])];
  }

  /**
   * Returns a session; creates it if necessary.
   *
   * @throws ServiceError `internal` if the session cannot be created; the next call tries again
   */
  get(kind: GraphKind, lora: Lora): Promise<Session> {
    const name = nameOf(kind, lora);
    return this.#sessions.get(name) ?? this.#keep(name, this.#createNamed(name, kind, lora));
  }

  async #createNamed(name: string, kind: GraphKind, lora: Lora): Promise<Session> {
    const { config, forms } = this.#options;
    const graph = graphOf(kind, config, { lora, forms });
    if (this.#late !== null && multipliesOnlyCodes(graph)) {
      this.#provisional.add(name);
      return this.#create(graph, { prepackWeights: false });
    }
    if (this.#late !== null) await this.#take(this.#late.writtenSoon());
    return this.#create(graph);
  }

  #create(graph: Graph, { prepackWeights = true } = {}): Promise<Session> {
    const { threads, device } = this.#options;
    const weights = this.#weights;
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
    for (const session of sessions) await session.release();
    this.#sessions.clear();
    await this.#releaseReplaced();
  }
}

/**
 * True if a session for first parts of prompts has the same bits without arranged weights, so that a start needs
 * arranged weights for only one session.
 */
export function startsUnarranged({ first }: GraphsOfEveryRequest): boolean {
  return multipliesOnlyCodes(first);
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
