// Constraints whose masks are computed in two threads: a quick thread for cheap constraints, and a slow thread for
// constraints that turn out to be costly. So costly constraints delay only each other. A thread is started in advance
// or at its first use, and started again after a breakdown.
import type { Constraint } from "../../../base/domain/constraint.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import type { GrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import type { CacheCounts } from "./constraint-cache.ts";
import type { ConstraintBackend, PreparedConstraint } from "./constraint-backend.ts";
import { MigratingConstraint, refused, type Compiled } from "./migrating-constraint.ts";
import type { Refusal } from "./mask-protocol.ts";
import { MaskWorker } from "./mask-worker.ts";
import type { ConstraintSettings } from "./settings.ts";

export interface ThreadedConstraintsOptions {
  readonly vocabulary: TokenVocabulary;
  readonly settings: ConstraintSettings;
  /** Maximum number of choices that run under constraints at the same time. */
  readonly choiceCountMax: number;
  /** Called when a thread breaks down, after its pending requests have failed. */
  readonly onBreakdown: (error: Error) => void;
  /** Module that the threads run, and their deadline for progress. Set only by tests. */
  readonly module?: URL;
  readonly silenceDeadlineMs?: number;
  /** Cost limit of the quick thread for compiling a constraint, and for computing one mask; about 10 ms if absent. */
  readonly quickSteps?: number;
}

type Pace = "quick" | "slow";

const defaultQuickSteps = 5_000;
/** Niceness of each thread. The slow thread has a high one, so that it leaves the processor's cores to the model. */
const niceness = { quick: 0, slow: 10 } as const satisfies Record<Pace, number>;
/**
 * Default time in milliseconds without progress after which a thread counts as broken. It is much longer than any work
 * within the limits, even in the slow thread on a busy machine.
 */
const defaultSilenceMs = 60_000;
const defaultModule = new URL("./mask-thread.js", import.meta.url);

export class ThreadedConstraints implements ConstraintBackend {
  readonly #options: ThreadedConstraintsOptions;
  readonly #workers = new Map<Pace, MaskWorker>();
  #lastKey = 0;

  constructor(options: ThreadedConstraintsOptions) {
    this.#options = options;
  }

  /** Cache statistics of all threads. */
  get kept(): CacheCounts {
    const sum = (one: CacheCounts, other: CacheCounts): CacheCounts => ({
      hits: one.hits + other.hits,
      misses: one.misses + other.misses,
      bytes: one.bytes + other.bytes,
    });
    return [...this.#workers.values()].map(({ kept }) => kept).reduce(sum, { hits: 0, misses: 0, bytes: 0 });
  }

  /** Starts the quick thread ahead of time, so that the first constraint need not wait for it. */
  startAhead(): void {
    this.#workerOf("quick");
  }

  async prepare(
    constraint: Constraint,
    options: { readonly signal: AbortSignal },
  ): Promise<PreparedConstraint> {
    const quick = await this.#compile("quick", constraint, options);
    if ("worker" in quick)
      return new MigratingConstraint(quick, (refusal, more) => this.#retry(refusal, constraint, more));
    const slow = this.#retry(quick, constraint, options);
    if (slow === null) throw refused(quick);
    return new MigratingConstraint(await slow, () => null);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
  }

  /**
   * Compiles a constraint in the slow thread after the quick thread refused it. Returns null if the slow thread would
   * refuse it too.
   */
  #retry(
    { subject }: Refusal,
    constraint: Constraint,
    options: { readonly signal: AbortSignal },
  ): Promise<Compiled> | null {
    if (subject !== "compileSteps" && subject !== "maskSteps") return null;
    const { settings, quickSteps = defaultQuickSteps } = this.#options;
    if (settings[subject] <= quickSteps) return null;
    return this.#compile("slow", constraint, options).then((compiled) => {
      if ("worker" in compiled) return compiled;
      throw refused(compiled);
    });
  }

  async #compile(
    pace: Pace,
    constraint: Constraint,
    options: { readonly signal: AbortSignal },
  ): Promise<Compiled | Refusal> {
    const worker = this.#workerOf(pace);
    const key = ++this.#lastKey;
    const outcome = await worker.prepare(key, constraint, options);
    return "notices" in outcome ? { worker, key, notices: outcome.notices } : outcome;
  }

  #workerOf(pace: Pace): MaskWorker {
    const running = this.#workers.get(pace);
    if (running !== undefined && !running.isBroken) return running;
    const { settings, vocabulary, choiceCountMax: placeCount, module = defaultModule } = this.#options;
    const { silenceDeadlineMs = defaultSilenceMs, onBreakdown } = this.#options;
    const { quickSteps = defaultQuickSteps } = this.#options;
    const worker = new MaskWorker({
      name: "constraint thread",
      module,
      data: {
        vocabulary,
        limits: pace === "quick" ? quickLimits(settings, quickSteps) : settings,
        cacheBytesMax: settings.cacheBytes,
        threadCount: Object.keys(niceness).length,
        placeCount,
        niceness: niceness[pace],
      },
      silenceDeadlineMs,
      onBreak: onBreakdown,
    });
    this.#workers.set(pace, worker);
    return worker;
  }
}

function quickLimits(settings: ConstraintSettings, quickSteps: number): GrammarLimits {
  const limitSteps = (steps: number): number => Math.min(steps, quickSteps);
  const { compileSteps, maskSteps } = settings;
  return { ...settings, compileSteps: limitSteps(compileSteps), maskSteps: limitSteps(maskSteps) };
}
