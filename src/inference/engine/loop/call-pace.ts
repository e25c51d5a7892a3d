// Measures the calls of an engine's steps, and derives how much time prompts may take in the next step. It knows who
// has rows and prompts, and decides nothing else.
import type { Clock } from "../../../base/domain/clock.ts";
import { CallTimes, expectedMs, type CallKind, type CallWork } from "../schedule/call-times.ts";
import type { Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { prefillWork, type PlannedCall, type PromptTime } from "../schedule/plan-calls.ts";
import type { CallResult } from "./run-call.ts";
import type { Sequence } from "./sequence.ts";

export class CallPace {
  readonly #clock: Clock;
  readonly #times = new CallTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a call and learns from its duration. Calls with drafts are excluded: drafting has its own measurements. */
  async timed<Result extends Pick<CallResult, "drafted">>(
    call: PlannedCall<Sequence>,
    lanes: Lanes,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const timed = timedWork(call, lanes);
    const startMs = this.#clock.monotonicMs();
    const result = await run();
    if (timed !== null && result.drafted.length === 0)
      this.#times.observe(timed.kind, timed.work, this.#clock.monotonicMs() - startMs);
    return result;
  }

  /** Returns the time that prompts may take in the next step. */
  promptTime(lanes: Iterable<Lane>): PromptTime {
    const { costs } = this.#times;
    const { decode } = costs;
    const all = [...lanes];
    const decodeMs =
      decode === null
        ? 0
        : all
            .filter(({ rows }) => rows.length > 0)
            .reduce((sum, lane) => sum + expectedMs(decode, decodeWork([lane])), 0);
    return { msMax: promptMsMax(decodeMs, ownerLoads(all)), costs };
  }
}

/** Returns a call's work; null if its rows or prompts no longer exist. */
function timedWork(
  call: PlannedCall<Sequence>,
  lanes: Lanes,
): { readonly kind: CallKind; readonly work: CallWork } | null {
  if (call.kind === "decode") {
    const decoding = lanes.decodingIn(call);
    return decoding.length === 0 ? null : { kind: "decode", work: decodeWork(decoding) };
  }
  const chunks = call.chunks.filter(({ prompt }) => prompt.slot !== null);
  if (chunks.length === 0) return null;
  return { kind: chunks[0].start === 0 ? "first" : "later", work: prefillWork({ chunks }) };
}

/** Includes rows that wait for their constraints, because they continue before a long call would end. */
function decodeWork(lanes: readonly Lane[]): CallWork {
  const rows = lanes.flatMap((lane) => lane.rows);
  return {
    tokenCount: rows.length,
    pairCount: rows.reduce((sum, { computedCount }) => sum + computedCount, 0),
  };
}

function ownerLoads(lanes: readonly Lane[]): Iterable<OwnerLoad> {
  const loads = new Map<string, { rowCount: number; promptedCount: number }>();
  const loadOf = (owner: string): { rowCount: number; promptedCount: number } => {
    const load = loads.get(owner) ?? { rowCount: 0, promptedCount: 0 };
    loads.set(owner, load);
    return load;
  };
  for (const { rows, prompts } of lanes) {
    for (const { owner } of rows) loadOf(owner).rowCount += 1;
    for (const { owner, slotCount } of prompts) loadOf(owner).promptedCount += slotCount;
  }
  return loads.values();
}

// Limits the share of a step's time for prompts, depending on whose prompts wait and whose rows they delay.

/** Rows and pending choices of an owner. */
export interface OwnerLoad {
  /** Rows, each of which waits for its next token. */
  readonly rowCount: number;
  /** Choices whose prompt is not computed yet. */
  readonly promptedCount: number;
}

/**
 * Maximum time for prompts as a multiple of the rows' time. A step then takes 2.5 times as long as a step without
 * prompts, below the factor of 3 that readers of a stream accept.
 */
const promptTimes = 1.5;

/** Pending choices per row above which an owner's rows wait longer. */
const burstShare = 0.25;

/**
 * Returns the time that prompts may take: {@link promptTimes}, or more if every owner with rows has many choices in
 * prefill. An owner who starts many choices at the same time wants all of them to begin, and a step with few rows is
 * inefficient. The time grows with the square, so that most of a burst begins within few steps.
 *
 * @param decodeMs time of the rows in this step
 * @returns milliseconds; Infinity if there are no rows
 */
export function promptMsMax(decodeMs: number, owners: Iterable<OwnerLoad>): number {
  let least = Infinity;
  for (const { rowCount, promptedCount } of owners)
    if (rowCount > 0) least = Math.min(least, promptedCount / rowCount);
  return least === Infinity ? Infinity : promptTimes * Math.max(1, (least / burstShare) ** 2) * decodeMs;
}
