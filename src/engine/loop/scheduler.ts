// Decides what one step of the engine computes: a pure function of what waits, what runs, and the budget.
// First come, first served: nothing overtakes the oldest waiting prompt, running rows always go on. How a prompt is cut
// into parts depends on the prompt alone and on how much of it was in memory, so that its numbers are the same whatever
// else runs.
import { laneBytes } from "../cache/kv-cache.ts";
import { positionGranule } from "../cache/kv-lane.ts";

/** What is asked of a prompt; whoever plans passes things of its own that can answer, and gets them back in the plan. */
export interface PlannedPrompt {
  /** Rows of different lanes cannot share a call. */
  readonly laneId: string;
  readonly tokenCount: number;
  /** Tokens that need no computing any more. One that waits may have some: what was found in memory. */
  readonly computedCount: number;
  /** One for each choice. */
  readonly slotCount: number;
  /** Positions that each slot may come to hold. */
  readonly positionCountMax: number;
}

/** What a lane holds, with everything that was promised to admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Rows that get a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly bytesPerPosition: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
}

/** Tokens [start, start + count) of a prompt. */
export interface PromptChunk<Prompt> {
  readonly prompt: Prompt;
  readonly start: number;
  readonly count: number;
}

/** What is computed together. */
export type PlannedCall<Prompt> =
  /** One token for each decoding row of the lane. */
  | { readonly kind: "decode"; readonly laneId: string }
  /** Parts of prompts, right-padded to the longest: all of them first parts, or all of them later ones. */
  | {
      readonly kind: "prefill";
      readonly laneId: string;
      readonly chunks: readonly PromptChunk<Prompt>[];
    };

export interface StepPlan<Prompt> {
  /** Waiting prompts that start now, oldest first. */
  readonly admitted: readonly Prompt[];
  /** In this order. */
  readonly calls: readonly PlannedCall<Prompt>[];
}

/** Chunks share a call while at least this part of the padded tokens is real. */
const leastRealPart = 0.75;

/**
 * Plans one step.
 *
 * @param waiting oldest first
 * @param started oldest first
 */
export function planStep<Prompt extends PlannedPrompt>(
  waiting: readonly Prompt[],
  started: readonly Prompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
): StepPlan<Prompt> {
  const admitted = admit(waiting, lanes, budget);
  const decodingCount = lanes.reduce((sum, lane) => sum + lane.decodingCount, 0);
  const chunks = chooseChunks([...started, ...admitted], decodingCount, budget);
  const laneIds = new Set([
    ...lanes.map(({ laneId }) => laneId),
    ...chunks.map(({ prompt }) => prompt.laneId),
  ]);
  const decoding = new Set(lanes.filter((lane) => lane.decodingCount > 0).map(({ laneId }) => laneId));
  const calls = [...laneIds].flatMap((laneId): readonly PlannedCall<Prompt>[] => [
    ...(decoding.has(laneId) ? [{ kind: "decode", laneId } as const] : []),
    ...groupChunks(chunks.filter(({ prompt }) => prompt.laneId === laneId)).map(
      (group) => ({ kind: "prefill", laneId, chunks: group }) as const,
    ),
  ]);
  return { admitted, calls };
}

/**
 * How many choices of a request can run at the same time when nothing else does; 0 when it can never run.
 */
export function slotsThatFit(
  positionCountMax: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | "bytesPerPosition">,
): number {
  let slots = budget.slotCountMax;
  while (slots > 0 && laneBytes(slots, positionCountMax, budget.bytesPerPosition) > budget.kvCacheBytesMax)
    slots--;
  return slots;
}

/** The most positions that one choice can hold when nothing else runs. */
export function positionsThatFit(budget: Pick<StepBudget, "kvCacheBytesMax" | "bytesPerPosition">): number {
  const bytesPerGranule = laneBytes(1, positionGranule, budget.bytesPerPosition);
  return Math.floor(budget.kvCacheBytesMax / bytesPerGranule) * positionGranule;
}

/** The longest run of waiting prompts, from the oldest, whose whole need can be set aside beside what runs. */
function admit<Prompt extends PlannedPrompt>(
  waiting: readonly Prompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
): readonly Prompt[] {
  const reserved = new Map(lanes.map((lane) => [lane.laneId, lane as Omit<LaneLoad, "decodingCount">]));
  const bytesOf = (lane: Pick<LaneLoad, "slotCount" | "positionCountMax"> | undefined): number =>
    lane === undefined ? 0 : laneBytes(lane.slotCount, lane.positionCountMax, budget.bytesPerPosition);
  let bytes = lanes.reduce((sum, lane) => sum + bytesOf(lane), 0);
  let slots = lanes.reduce((sum, lane) => sum + lane.slotCount, 0);
  const admitted: Prompt[] = [];
  for (const prompt of waiting) {
    const old = reserved.get(prompt.laneId);
    const grown = {
      laneId: prompt.laneId,
      slotCount: (old?.slotCount ?? 0) + prompt.slotCount,
      positionCountMax: Math.max(old?.positionCountMax ?? 0, prompt.positionCountMax),
    };
    bytes += bytesOf(grown) - bytesOf(old);
    slots += prompt.slotCount;
    if (slots > budget.slotCountMax || bytes > budget.kvCacheBytesMax) break;
    reserved.set(prompt.laneId, grown);
    admitted.push(prompt);
  }
  return admitted;
}

/** One chunk of each prompt, oldest first, while the budget lasts; the oldest always gets its chunk. */
function chooseChunks<Prompt extends PlannedPrompt>(
  prompts: readonly Prompt[],
  decodingCount: number,
  budget: StepBudget,
): readonly PromptChunk<Prompt>[] {
  const chunks: PromptChunk<Prompt>[] = [];
  let left = budget.tokensPerStepMax - decodingCount;
  for (const prompt of prompts) {
    const { tokenCount, computedCount } = prompt;
    const count = Math.min(budget.promptChunkTokens, tokenCount - computedCount);
    if (count > left && chunks.length > 0) break;
    chunks.push({ prompt, start: computedCount, count });
    left -= count;
  }
  return chunks;
}

/** Chunks of like length together: first chunks with first ones, later chunks with later ones. */
function groupChunks<Prompt>(
  chunks: readonly PromptChunk<Prompt>[],
): readonly (readonly PromptChunk<Prompt>[])[] {
  const first = chunks.filter(({ start }) => start === 0);
  const later = chunks.filter(({ start }) => start > 0);
  return [...groupByLength(first), ...groupByLength(later)];
}

function groupByLength<Prompt>(
  chunks: readonly PromptChunk<Prompt>[],
): readonly (readonly PromptChunk<Prompt>[])[] {
  const groups: PromptChunk<Prompt>[][] = [];
  let realTokens = 0;
  for (const chunk of chunks.toSorted((a, b) => b.count - a.count)) {
    const group = groups.at(-1);
    const paddedTokens = group === undefined ? 0 : (group.length + 1) * group[0].count;
    if (group !== undefined && realTokens + chunk.count >= leastRealPart * paddedTokens) {
      group.push(chunk);
      realTokens += chunk.count;
    } else {
      groups.push([chunk]);
      realTokens = chunk.count;
    }
  }
  return groups;
}
