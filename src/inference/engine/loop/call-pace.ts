// Measures the duration of the calls in the engine's steps, and derives how much time prompts may take in the next
// step.
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
   * Runs a call, and updates the estimates with its duration. Calls with drafts do not update them: the drafter
   * measures these.
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

/** Returns the work of a call; null if the call's rows or prompts no longer exist. */
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

/** Rows that wait for their constraints count too, because they continue before a long call would end. */
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

// Limits the share of a step's time that prompts may take, depending on which owners' prompts wait and which owners'
// rows they delay.

/** Numbers of an owner's rows and of its choices in prefill. */
export interface OwnerLoad {
  /** Number of rows; each of them waits for its next token. */
  readonly rowCount: number;
  /** Number of choices whose prompt is not completely computed. */
  readonly promptedCount: number;
}

/**
 * Maximum time for prompts, as a multiple of the rows' time in the step. A step then takes at most 2.5 times as long
 * as a step without prompts. Readers of a stream accept a factor of 3.
 */
const promptTimes = 1.5;

/** Number of choices in prefill per row, above which prompts may take more of the step's time. */
const burstShare = 0.25;

/**
 * Returns the time that prompts may take in a step: {@link promptTimes} times the rows' time, or more if every owner
 * with rows also has many choices in prefill. An owner who starts many choices at the same time wants all of them to
 * begin, and a step with few rows is inefficient. The time grows with the square of the number of choices in prefill
 * per row, so that most of a burst begins within few steps.
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
