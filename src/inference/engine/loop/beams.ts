// Applies the steps of a beam search to the rows that compute it; `BeamSearch` decides which hypotheses continue. A row
// whose hypothesis continues keeps its slot, and every other row copies a better row. The answers are emitted at the
// end.
import { assert, present } from "../../../base/domain/assert.ts";
import type { GeneratedToken, GenerationEvent } from "../../../base/domain/generation.ts";
import {
  noCandidates,
  tokensOf,
  type BeamAnswer,
  type BeamSearch,
  type Survivor,
} from "../beam/beam-search.ts";
import { nothingAllowed } from "./draw.ts";
import type { Lane } from "./lane.ts";
import { failRequest } from "./settle.ts";
import type { RunningRequest, Sequence } from "./sequence.ts";

/** A request whose choices are the results of a beam search. */
export type SearchedRequest = RunningRequest & { readonly search: BeamSearch };

export function isSearched(running: RunningRequest): running is SearchedRequest {
  return running.search !== null;
}

/** True if all rows have candidates, so that the search can take its next step. */
export function isReadyToAdvance({ sequences }: SearchedRequest): boolean {
  return sequences.every(({ candidates, isFinished }) => candidates !== null && !isFinished);
}

/**
 * Takes the next step of a search whose rows all have candidates. Must be called only between calls of the runner,
 * because this function writes slots.
 */
export function advanceBeams(running: SearchedRequest, lane: Lane): void {
  const { search, sequences } = running;
  const rows = new Map(sequences.map((row) => [row.hypothesis, row]));
  const rowOf = (hypothesis: Sequence["hypothesis"]): Sequence =>
    present(rows.get(hypothesis), "the row of a live hypothesis");
  const survivors = search.advance((hypothesis) => rowOf(hypothesis).candidates ?? noCandidates);
  if (survivors.length === 0) finish(running);
  else reassign(survivors, { running, lane, rowOf });
}

/**
 * Assigns a row to every survivor (a hypothesis that continues). The first survivor of each parent stays in the
 * parent's row and copies nothing. Each further survivor takes a row whose hypothesis ended, and copies only the
 * positions that differ.
 */
function reassign(
  survivors: readonly Survivor[],
  {
    running,
    lane,
    rowOf,
  }: {
    readonly running: SearchedRequest;
    readonly lane: Lane;
    readonly rowOf: (hypothesis: Sequence["hypothesis"]) => Sequence;
  },
): void {
  const parents = new Set(survivors.map(({ parent }) => rowOf(parent)));
  const free = running.sequences.filter((row) => !parents.has(row));
  for (const row of free) row.dropHypothesis();
  const staying: { readonly row: Sequence; readonly survivor: Survivor }[] = [];
  for (const survivor of survivors) {
    const row = rowOf(survivor.parent);
    if (parents.delete(row)) {
      staying.push({ row, survivor });
      continue;
    }
    const target = present(free.shift(), "a row for every beam");
    lane.copyRow(row, target);
    continueRow(target, survivor);
    target.cursor = running.constraint?.open(target.answerTokenIds) ?? null;
  }
  // Rows that stay get their new token last. Before that, the other rows have to copy the earlier contents of these
  // rows.
  for (const { row, survivor } of staying) {
    continueRow(row, survivor);
    row.cursor?.accept(row.answerTokenIds[row.answerTokenIds.length - 1]);
  }
}

function continueRow(row: Sequence, { hypothesis }: Survivor): void {
  assert(hypothesis.token !== null, "a live hypothesis has one more token");
  row.answerTokenIds.push(hypothesis.token.id);
  row.hypothesis = hypothesis;
  row.candidates = null;
}

/** Emits each answer as a whole, the best first. The number of a choice is its rank. */
function finish(running: SearchedRequest): void {
  const { search, sequences, request, unwanted, output } = running;
  const { answers } = search;
  if (answers.length === 0) {
    failRequest(running, nothingAllowed(running));
    return;
  }
  for (const sequence of sequences) sequence.isFinished = true;
  if (answers.length < sequences.length) output.push({ kind: "choices-found", count: answers.length });
  for (const [choice, answer] of answers.entries()) {
    if (unwanted.has(choice)) continue;
    for (const event of eventsOf(answer, choice, request.outputs.topLogprobCount !== null))
      output.push(event);
  }
}

function eventsOf(answer: BeamAnswer, choice: number, hasLogprobs: boolean): readonly GenerationEvent[] {
  const { hypothesis, reason, stopTokenId } = answer;
  const shown = (token: GeneratedToken): GeneratedToken => (hasLogprobs ? token : { ...token, logprob: NaN });
  const tokens = tokensOf(hypothesis).map(shown);
  const finished = { kind: "choice-finished", choice, reason, stopTokenId } as const;
  return tokens.length === 0 ? [finished] : [{ kind: "tokens", choice, tokens }, finished];
}
