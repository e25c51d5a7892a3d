// Plans one step of the engine, from the prompts in prefill, the rows, the budget and estimates of call times. Every
// step decodes the rows. Prompts take turns and get as much of a step as the time allows; they may be divided at any
// token, because the results have the same bits for every division.
import { laterPartCount } from "../../architectures/serving-graphs.ts";
import { computesForOther, type PrefillingPrompt } from "../prefix-cache/shared-tokens.ts";
import { expectedMs, type CallCosts, type CallWork } from "./call-times.ts";
import { sortByTurns, nextTurns, type Turns, type TurnTaker } from "./prompt-turns.ts";
import { pairLanes, type PairGain } from "./pair-lanes.ts";
import type { LaneLoad, StepBudget } from "./slot-holder.ts";

/**
 * A prompt with the properties that matter for planning. The caller passes its own objects and gets them back in the
 * plan.
 */
export interface PlannedPrompt extends TurnTaker, PrefillingPrompt {
  readonly laneId: string;
  /**
   * True if log-probabilities of the prompt's tokens are requested. The model then computes logits after each token,
   * not only after the last.
   */
  readonly needsLogprobs: boolean;
  /**
   * Number of leading tokens after which a part should end, so that the states there can be saved; 0 if parts may end
   * anywhere.
   */
  readonly branchCount: number;
}

/** Tokens [start, start + count) of a prompt, which are computed in one call. */
export interface PromptChunk<Prompt> {
  readonly prompt: Prompt;
  readonly start: number;
  readonly count: number;
}

/**
 * Parts of prompts that are computed in one call. Either all are the first parts of their prompts, or all are later
 * parts.
 */
export interface PrefillCall<Prompt> {
  readonly kind: "prefill";
  readonly laneId: string;
  readonly chunks: readonly PromptChunk<Prompt>[];
}

/** A call that a step makes. */
export type PlannedCall<Prompt> =
  | PrefillCall<Prompt>
  /** Decodes one token for each decoding row of a lane, and of a second lane if the two lanes share the call. */
  | { readonly kind: "decode"; readonly laneId: string; readonly pairedId?: string };

/** Limit for the time of prompts in a step, and estimates of call times. */
export interface PromptTime {
  /** Maximum number of milliseconds; Infinity if no rows wait for the prompts. */
  readonly msMax: number;
  readonly costs: CallCosts;
}

export interface StepPlan<Prompt> {
  /** Calls in the order in which they run. */
  readonly calls: readonly PlannedCall<Prompt>[];
  /** Counts that decide which prompt has its turn. The caller passes them to the planning of the next step. */
  readonly turns: Turns;
}

/**
 * A call with first parts of prompts pads them to equal length. At least this share of its tokens must be real tokens.
 */
const realTokenShareMin = 0.75;

/**
 * Minimum number of tokens in a part, even if time is short. In smaller parts, the fixed cost of the call would take
 * most of the time.
 */
const partTokensMin = 16;

/**
 * The first part of a step may take this multiple of the smallest part's time, even beyond the time limit for prompts.
 * Additional tokens are cheap compared to the fixed cost of the call.
 */
const smallestPartTimes = 1.3;

/** Attention pads parts to a multiple of this number of tokens; see `part-layout`. */
const partGranule = 8;

/**
 * If at most this fraction of a part's tokens would remain of the prompt after the part, these tokens are computed
 * together with the part.
 */
const restShareMin = 0.25;

/**
 * Plans the calls of a step.
 *
 * @param prompts prompts that have slots and are not completely computed
 * @param options.turns the value of `turns` in the previous plan
 * @param options.pairGain returns the gain of decoding two lanes in one call, by the ids of the lanes
 */
export function planCalls<Prompt extends PlannedPrompt>(
  prompts: readonly Prompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
  {
    time,
    turns,
    pairGain = () => 0,
  }: { readonly time: PromptTime; readonly turns: Turns; readonly pairGain?: PairGain<string> },
): StepPlan<Prompt> {
  const decodingCount = lanes.reduce((sum, lane) => sum + lane.decodingCount, 0);
  const decoding = lanes.filter((lane) => lane.decodingCount > 0).map(({ laneId }) => laneId);
  const decodes = pairLanes(decoding, pairGain).map(
    ([laneId, pairedId]) =>
      ({ kind: "decode", laneId, ...(pairedId !== undefined && { pairedId }) }) as const,
  );
  const chunks = chooseChunks(dropWaiting(sortByTurns(prompts, turns)), decodingCount, budget, time);
  return {
    calls: [...decodes, ...groupChunks(chunks)],
    turns: nextTurns(prompts, turns, chunks),
  };
}

/** Returns the amount of work of a call with parts of prompts. */
export function prefillWork({ chunks }: Pick<PrefillCall<unknown>, "chunks">): CallWork {
  const longest = Math.max(...chunks.map(({ count }) => count));
  const isFirst = chunks.every(({ start }) => start === 0);
  const counts = chunks.map(({ count }) => (isFirst ? longest : count));
  return {
    tokenCount: counts.reduce((sum, count) => sum + padded(count), 0),
    pairCount: chunks.reduce((sum, { start }, index) => sum + counts[index] * (start + counts[index] / 2), 0),
  };
}

/**
 * Drops each prompt that should wait because another prompt computes a prefix that the two share. The other prompt is
 * ahead, or comes earlier in the list.
 */
function dropWaiting<Prompt extends PlannedPrompt>(prompts: readonly Prompt[]): readonly Prompt[] {
  return prompts.filter(
    (prompt, place) =>
      !prompts.some(
        (other, otherPlace) =>
          other !== prompt &&
          other.priority <= prompt.priority &&
          (other.computedCount > prompt.computedCount || otherPlace < place) &&
          computesForOther(other, prompt),
      ),
  );
}

/**
 * Chooses one chunk of each prompt, in the order of the prompts, while time and tokens remain. The first prompt always
 * gets a chunk. A prompt whose log-probabilities are requested is skipped if the step has no room for its logits, so
 * later prompts may overtake it.
 */
function chooseChunks<Prompt extends PlannedPrompt>(
  prompts: readonly Prompt[],
  decodingCount: number,
  budget: StepBudget,
  time: PromptTime,
): readonly PromptChunk<Prompt>[] {
  const chunks: PromptChunk<Prompt>[] = [];
  const { promptChunkTokens, logprobTokensPerStepMax } = budget;
  let left = budget.tokensPerStepMax - decodingCount;
  let logprobsLeft = logprobTokensPerStepMax;
  for (const prompt of prompts) {
    const { tokenIds, computedCount, needsLogprobs } = prompt;
    const rest = tokenIds.length - computedCount;
    const countMax = needsLogprobs ? Math.min(promptChunkTokens, logprobTokensPerStepMax) : promptChunkTokens;
    const wanted = avoidLoneToken(Math.min(countMax, rest, untilBranch(prompt)), rest);
    if (needsLogprobs && wanted > logprobsLeft) continue;
    if (wanted > left && chunks.length > 0) break;
    const count = countInTime({ prompt, start: computedCount, count: wanted }, chunks, time);
    if (count === 0) continue;
    chunks.push({ prompt, start: computedCount, count });
    left -= count;
    if (needsLogprobs) logprobsLeft -= count;
    if (count < wanted) break;
  }
  return chunks;
}

/**
 * Returns the number of a prompt's next tokens up to its branch position. Returns Infinity if these are too few for a
 * separate part, so that they set no limit.
 */
function untilBranch({ branchCount, computedCount }: PlannedPrompt): number {
  const count = branchCount - computedCount;
  return count >= partTokensMin ? count : Infinity;
}

/**
 * Returns how many tokens of a chunk can be computed in the remaining time, besides the chunks already chosen. Returns
 * 0 if fewer than the minimum of a part can be computed.
 */
function countInTime<Prompt extends PlannedPrompt>(
  chunk: PromptChunk<Prompt>,
  others: readonly PromptChunk<Prompt>[],
  time: PromptTime,
): number {
  const { prompt, start, count: wanted } = chunk;
  const smallest = Math.min(partTokensMin, wanted);
  const msWith = (count: number): number => estimateMs([...others, { prompt, start, count }], time);
  // Without a measurement the expected time is infinite. The smallest part is then computed, to measure it.
  const msMax = others.length > 0 ? time.msMax : Math.max(time.msMax, smallestPartTimes * msWith(smallest));
  const fits = (count: number): boolean => msWith(count) <= msMax && msWith(count) < Infinity;
  if (fits(wanted)) return wanted;
  let [least, most] = [0, Math.floor(wanted / partGranule)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(middle * partGranule)) least = middle;
    else most = middle - 1;
  }
  const fitting = least * partGranule;
  if (fitting < smallest && others.length > 0) return 0;
  const count = Math.max(fitting, smallest);
  const rest = prompt.tokenIds.length - start;
  return rest === wanted && rest - count <= restShareMin * count ? rest : avoidLoneToken(count, rest);
}

/** Returns the expected time of the calls for these chunks; Infinity if no call with prompts has been measured. */
function estimateMs<Prompt extends PlannedPrompt>(
  chunks: readonly PromptChunk<Prompt>[],
  { msMax, costs }: PromptTime,
): number {
  if (msMax === Infinity) return 0;
  return groupChunks(chunks).reduce((sum, call) => {
    const isFirst = call.chunks[0].start === 0;
    const cost = isFirst ? (costs.first ?? costs.later) : (costs.later ?? costs.first);
    return sum + (cost === null ? Infinity : expectedMs(cost, prefillWork(call)));
  }, 0);
}

/**
 * Shortens a part after which only the last token of a prompt would remain, because a single token costs as much as a
 * whole part.
 */
function avoidLoneToken(count: number, rest: number): number {
  return rest - count === 1 && count > 2 ? count - 1 : count;
}

/**
 * Groups chunks into calls, in the order of each call's first chunk. The chunks of a call are in one lane, and are
 * either all first parts or all later parts.
 */
function groupChunks<Prompt extends PlannedPrompt>(
  chunks: readonly PromptChunk<Prompt>[],
): readonly PrefillCall<Prompt>[] {
  const laneIds = [...new Set(chunks.map(({ prompt }) => prompt.laneId))];
  const groups = laneIds.flatMap((laneId) => {
    const own = chunks.filter(({ prompt }) => prompt.laneId === laneId);
    const [first, later] = [own.filter(({ start }) => start === 0), own.filter(({ start }) => start > 0)];
    return [...groupByLength(first), ...groupByCount(later)].map((group) => ({ laneId, chunks: group }));
  });
  const placeOf = (group: readonly PromptChunk<Prompt>[]): number =>
    Math.min(...group.map((chunk) => chunks.indexOf(chunk)));
  return groups
    .toSorted((one, other) => placeOf(one.chunks) - placeOf(other.chunks))
    .map((group) => ({ kind: "prefill", ...group }));
}

/** Groups first parts by similar length, because a call pads its parts to the longest one. */
function groupByLength<Prompt>(
  chunks: readonly PromptChunk<Prompt>[],
): readonly (readonly PromptChunk<Prompt>[])[] {
  const groups: PromptChunk<Prompt>[][] = [];
  let realTokens = 0;
  for (const chunk of chunks.toSorted((a, b) => b.count - a.count)) {
    const group = groups.at(-1);
    const paddedTokens = group === undefined ? 0 : (group.length + 1) * group[0].count;
    if (group !== undefined && realTokens + chunk.count >= realTokenShareMin * paddedTokens) {
      group.push(chunk);
      realTokens += chunk.count;
    } else {
      groups.push([chunk]);
      realTokens = chunk.count;
    }
  }
  return groups;
}

/** Groups later parts, as many per call as the graph has room for. They need no padding to each other's length. */
function groupByCount<Prompt>(
  chunks: readonly PromptChunk<Prompt>[],
): readonly (readonly PromptChunk<Prompt>[])[] {
  return chunks.flatMap((_, index) =>
    index % laterPartCount === 0 ? [chunks.slice(index, index + laterPartCount)] : [],
  );
}

function padded(count: number): number {
  return Math.ceil(count / partGranule) * partGranule;
}
