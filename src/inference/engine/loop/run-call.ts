// Runs one planned call of a step: makes room, passes the tokens to the runner, and counts them as computed. Returns
// the sequences that can now draw their next token, and the log-probabilities of prompts. Preempted rows recompute
// their answers token by token: recomputing them like prompts would give slightly different logits, and perhaps another
// answer.
import { systemClock } from "../../../base/domain/clock.ts";
import type { PromptLogprob } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { collectDrafts, type DraftedRow, type Drafter } from "../drafts/drafter.ts";
import type { DecodingRows, ModelRunner, PromptPart } from "../model-runner.ts";
import { scoreTokens } from "./prompt-logprobs.ts";
import { slotOf, type Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import type { PlannedCall, PromptChunk } from "../schedule/plan-calls.ts";
import type { RunningRequest, Sequence } from "./sequence.ts";

/**
 * A sequence whose tokens are all computed, with the logits of its next token. The logits are valid until the next
 * call.
 */
export interface ScoredSequence {
  readonly sequence: Sequence;
  readonly logits_V: Float32Array;
}

/** Log-probabilities of some tokens of a prompt, or the error with which the request fails. */
export interface PromptLogprobs {
  readonly running: RunningRequest;
  readonly outcome: readonly (PromptLogprob | null)[] | ServiceError;
}

/** A computed prompt of a request that asks for an embedding instead of an answer. */
export interface EmbeddedPrompt {
  readonly sequence: Sequence;
  /** Hidden state after the prompt's last token; valid until the next call. */
  readonly hidden_D: Float32Array;
}

export interface CallResult {
  readonly scored: readonly ScoredSequence[];
  /** Rows with drafts. Their drafts can be verified once the token before the draft is drawn and settled. */
  readonly drafted: readonly DraftedRow[];
  /** Log-probabilities of prompts, in the order of each prompt's tokens. */
  readonly promptLogprobs: readonly PromptLogprobs[];
  readonly embedded: readonly EmbeddedPrompt[];
}

const nothing: CallResult = { scored: [], drafted: [], promptLogprobs: [], embedded: [] };

/**
 * Runs a planned call. Skips lanes and prompts that have been removed since the step was planned.
 *
 * @param drafter guesses draft tokens; null if the call should have no drafts
 */
export async function runCall(
  call: PlannedCall<Sequence>,
  lanes: Lanes,
  runner: ModelRunner,
  drafter: Drafter | null,
): Promise<CallResult> {
  if (call.kind === "decode") {
    const [one, other] = lanes
      .decodingIn(call)
      .filter(({ rows }) => rows.some(({ isDecoding }) => isDecoding));
    if (one === undefined) return nothing;
    return other === undefined
      ? decodeRows(one, lanes, runner, drafter)
      : decodePair([one, other], lanes, runner);
  }
  const lane = lanes.find(call.laneId);
  if (lane === undefined) return nothing;
  const chunks = call.chunks.filter(({ prompt }) => prompt.slot !== null);
  return prefillChunks(chunks, { lane, lanes, runner });
}

async function decodeRows(
  lane: Lane,
  lanes: Lanes,
  runner: ModelRunner,
  drafter: Drafter | null,
): Promise<CallResult> {
  const rows = lane.rows.slice(0, lane.arrangeRows());
  if (rows.length === 0) return nothing;
  const drafts = collectDrafts(runner.isReadyForDrafts(lane.adapter) ? drafter : null, rows);
  lanes.makeRoom(
    lane,
    Math.max(...rows.map(({ computedCount }, row) => computedCount + 1 + drafts[row].length)),
  );
  const startMs = systemClock.monotonicMs();
  const logits = await scoresAfter({ lane, rows, drafts }, runner);
  drafter?.noteStep(drafts, systemClock.monotonicMs() - startMs);
  const { vocabularySize } = runner.shape;
  const scored: ScoredSequence[] = [];
  const drafted: DraftedRow[] = [];
  for (const [row, sequence] of rows.entries()) {
    sequence.computedCount += 1;
    if (!sequence.isComputed) continue;
    scored.push({ sequence, logits_V: logits[row].subarray(0, vocabularySize) });
    const [draft, logits_TV] = [drafts[row], logits[row].subarray(vocabularySize)];
    if (draft.length > 0) drafted.push({ sequence, kv: lane.kv, draft, logits_TV });
  }
  return { ...nothing, scored, drafted };
}

/**
 * Decodes the input token of each row, together with its draft tokens. Returns for each row the logits after each of
 * these tokens.
 */
async function scoresAfter(
  {
    lane,
    rows,
    drafts,
  }: {
    readonly lane: Lane;
    readonly rows: readonly Sequence[];
    readonly drafts: readonly (readonly number[])[];
  },
  runner: ModelRunner,
): Promise<readonly Float32Array[]> {
  const { kv, adapter } = lane;
  const tokenIds = rows.map(({ inputTokenId }) => inputTokenId);
  if (drafts.some(({ length }) => length > 0)) {
    const withDrafts = tokenIds.map((id, row) => [id, ...drafts[row]]);
    return runner.decodeDrafts(kv, adapter, withDrafts);
  }
  const logits_BV = await runner.decode(kv, adapter, tokenIds);
  const { vocabularySize } = runner.shape;
  return rows.map((_, row) => logits_BV.subarray(row * vocabularySize, (row + 1) * vocabularySize));
}

/**
 * Decodes one token of each row in two lanes with a shared call. Uses no drafts, because many rows wait for this step.
 */
async function decodePair(
  pair: readonly [Lane, Lane],
  lanes: Lanes,
  runner: ModelRunner,
): Promise<CallResult> {
  const groups = pair.map((lane) => ({ lane, rows: lane.rows.slice(0, lane.arrangeRows()) }));
  for (const { lane, rows } of groups)
    lanes.makeRoom(lane, Math.max(0, ...rows.map(({ computedCount }) => computedCount + 1)));
  const [one, other] = groups.map(({ lane: { kv, adapter }, rows }): DecodingRows => ({
    lane: kv,
    adapter,
    tokenIds: rows.map(({ inputTokenId }) => inputTokenId),
  }));
  const logits = await runner.decodePair([one, other]);
  const { vocabularySize } = runner.shape;
  const scored = groups.flatMap(({ rows }, group) =>
    rows.flatMap((sequence, row) => {
      sequence.computedCount += 1;
      if (!sequence.isComputed) return [];
      const logits_V = logits[group].subarray(row * vocabularySize, (row + 1) * vocabularySize);
      return [{ sequence, logits_V }];
    }),
  );
  return { ...nothing, scored };
}

async function prefillChunks(
  chunks: readonly PromptChunk<Sequence>[],
  { lane, lanes, runner }: { readonly lane: Lane; readonly lanes: Lanes; readonly runner: ModelRunner },
): Promise<CallResult> {
  if (chunks.length === 0) return nothing;
  lanes.makeRoom(lane, Math.max(...chunks.map(({ start, count }) => start + count)));
  const results = await runner.prefill(
    lane.kv,
    lane.adapter,
    chunks.map((chunk) => ({
      slot: slotOf(chunk.prompt),
      tokenIds: chunk.prompt.tokenIds.slice(chunk.start, chunk.start + chunk.count),
      logits: chooseLogits(chunk),
    })),
  );
  const { vocabularySize } = runner.shape;
  const promptLogprobs = chunks.flatMap((chunk, index) => logprobsOf(chunk, results[index], vocabularySize));
  const scored: ScoredSequence[] = [];
  const embedded: EmbeddedPrompt[] = [];
  for (const [index, { prompt, count }] of chunks.entries()) {
    prompt.computedCount += count;
    if (!prompt.running.isPromptComputed) prompt.running.computedPromptCount += count;
    const logits_V = prompt.wantsEmbedding ? null : results[index].subarray(-vocabularySize);
    lanes.cachePrompt(prompt, logits_V);
    if (!prompt.isComputed) continue;
    if (logits_V === null) embedded.push({ sequence: prompt, hidden_D: results[index] });
    else scored.push({ sequence: prompt, logits_V });
  }
  return { scored, drafted: [], promptLogprobs, embedded };
}

function chooseLogits(chunk: PromptChunk<Sequence>): PromptPart["logits"] {
  if (findNewTokens(chunk).ids.length > 0) return "all";
  if (!isLast(chunk)) return "none";
  return chunk.prompt.wantsEmbedding ? "last-hidden" : "last";
}

function isLast({ prompt, start, count }: PromptChunk<Sequence>): boolean {
  return start + count === prompt.tokenCount;
}

/**
 * Tokens of a chunk whose log-probabilities no earlier chunk has computed. Groups of choices that run one after another
 * compute the same prompt again. `firstRow` is the index of the logits that predict the first of these tokens.
 */
interface NewTokens {
  readonly ids: readonly number[];
  readonly firstRow: number;
}

function findNewTokens({ prompt, start, count }: PromptChunk<Sequence>): NewTokens {
  const { request, emittedLogprobCount } = prompt.running;
  // The first token of a prompt has no log-probability.
  const first = Math.max(1, emittedLogprobCount);
  const isNext = prompt.needsLogprobs && first > start;
  const ids = isNext ? request.prompt.tokenIds.slice(first, start + count + 1) : [];
  return { ids, firstRow: first - 1 - start };
}

function logprobsOf(
  chunk: PromptChunk<Sequence>,
  logits_TV: Float32Array,
  vocabularySize: number,
): readonly PromptLogprobs[] {
  const { running, needsLogprobs } = chunk.prompt;
  const { promptLogprobCount } = running.request.outputs;
  if (promptLogprobCount === null || !needsLogprobs) return [];
  const { ids, firstRow } = findNewTokens(chunk);
  const first = running.emittedLogprobCount === 0 ? [null] : [];
  if (first.length + ids.length === 0) return [];
  try {
    const rows = logits_TV.subarray(firstRow * vocabularySize);
    const scored = scoreTokens(rows, ids, { vocabularySize, alternativeCount: promptLogprobCount });
    running.emittedLogprobCount += first.length + scored.length;
    return [{ running, outcome: [...first, ...scored] }];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [{ running, outcome: error }];
  }
}
