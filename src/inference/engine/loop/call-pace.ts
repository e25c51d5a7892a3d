// Times the calls of an engine's steps, and says from it what prompts may take of the next one. Knows who has rows and
// prompts; decides nothing else.
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

  /** Runs a call, and learns from how long it takes; drafts are chosen by measurements of their own. */
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

  /** What prompts may take of the next step. */
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

/** Null where what was planned has gone meanwhile. */
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

/** Also of rows that wait for their constraints: they go on before a long call would end. */
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

// How much of a step's time prompts may take, by who waits for them and who waits because of them.

/** What an owner has in the engine. */
export interface OwnerLoad {
  /** Rows, each of which waits for its next token. */
  readonly rowCount: number;
  /** Choices that wait for their prompt. */
  readonly promptedCount: number;
}

/**
 * The time that prompts may take, in times the time of the rows' own step. Together with it a step takes 2.5 times as long as
 * one without prompts, which leaves room up to the 3 times that readers of a stream put up with.
 */
const promptTimes = 1.5;

/** Choices that wait for prompts, for each of an owner's rows, from which on its rows wait longer. */
const burstPart = 0.25;

/**
 * Rows wait for prompts no longer than {@link promptTimes} says, unless everyone who has rows has so many choices that wait
 * for prompts: who starts many at once wants them all to begin, and few rows a step are computed at a bad rate. It grows with
 * the square, so that a burst has begun within few steps and little of it is left to steps of the usual pace.
 *
 * @param decodeMs what the rows take of this step
 * @returns milliseconds; Infinity where there are no rows
 */
export function promptMsMax(decodeMs: number, owners: Iterable<OwnerLoad>): number {
  let least = Infinity;
  for (const { rowCount, promptedCount } of owners)
    if (rowCount > 0) least = Math.min(least, promptedCount / rowCount);
  return least === Infinity ? Infinity : promptTimes * Math.max(1, (least / burstPart) ** 2) * decodeMs;
}
