// Measures how long the calls in the engine's steps take, and derives the time that prompts may take in the next step.
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

  /**
   * Runs a call, and updates the time estimates with its duration. Calls with drafts do not update them, because the
   * drafter keeps separate estimates.
   */
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

  /** Returns the maximum time for prompts in the next step, with the measured costs of calls. */
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

/** Returns the amount of work of a call; null if the rows or prompts of the call no longer exist. */
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

/**
 * Returns the work of decoding all rows of some lanes. Rows that wait for their constraints count too, because they
 * would continue before a long call ends.
 */
function decodeWork(lanes: readonly Lane[]): CallWork {
  const rows = lanes.flatMap((lane) => lane.rows);
  return {
    tokenCount: rows.length,
    pairCount: rows.reduce((sum, { computedCount }) => sum + computedCount, 0),
  };
}

function ownerLoads(lanes: readonly Lane[]): Iterable<OwnerLoad> {
  const loads = new Map<string, { rowCount: number; prefillCount: number }>();
  const loadOf = (owner: string): { rowCount: number; prefillCount: number } => {
    const load = loads.get(owner) ?? { rowCount: 0, prefillCount: 0 };
    loads.set(owner, load);
    return load;
  };
  for (const { rows, prompts } of lanes) {
    for (const { owner } of rows) loadOf(owner).rowCount += 1;
    for (const { owner, slotCount } of prompts) loadOf(owner).prefillCount += slotCount;
  }
  return loads.values();
}

// The following functions limit the share of a step's time that prompts may take. The limit depends on the owners of
// the prompts, and on the owners of the rows that the prompts delay.

/** Number of an owner's rows, and of its choices whose prompts are still being computed. */
export interface OwnerLoad {
  /** Number of rows. Each row waits for its next token. */
  readonly rowCount: number;
  /** Number of choices that are in prefill: the engine is still computing their prompts. */
  readonly prefillCount: number;
}

/**
 * Maximum time for prompts, as a multiple of the time for the step's rows. A step then takes at most 2.5 times as long
 * as a step without prompts. Readers of a stream accept a factor of 3.
 */
const promptTimes = 1.5;

/**
 * Ratio of an owner's choices in prefill to its rows. If every owner's ratio is higher, prompts may take more than the
 * usual share of a step.
 */
const burstShare = 0.25;

/**
 * Returns the time that prompts may take in a step: {@link promptTimes} times the rows' time, or more if every owner
 * with rows also has many choices in prefill. Such an owner wants its choices to begin, and a step with few rows is
 * inefficient. The time grows with the square of the number of choices in prefill per row, so that most of a burst
 * begins within few steps.
 *
 * @param decodeMs time of the rows in this step
 * @returns milliseconds; Infinity if there are no rows
 */
export function promptMsMax(decodeMs: number, owners: Iterable<OwnerLoad>): number {
  let least = Infinity;
  for (const { rowCount, prefillCount } of owners)
    if (rowCount > 0) least = Math.min(least, prefillCount / rowCount);
  return least === Infinity ? Infinity : promptTimes * Math.max(1, (least / burstShare) ** 2) * decodeMs;
}
