// A logits processor that ends a model's thinking after a number of tokens, by forcing the closing sequence token by
// token. Before and after the thinking, it changes nothing. The method is budget forcing from "s1: Simple test-time
// scaling" (arXiv 2501.19393), without the part that prolongs thinking.
import type { ProcessorCall, TokenProcessor } from "./processor.ts";
import { numberOf, tokenIdsOf } from "./read-argument.ts";

/**
 * Creates the processor. Its arguments:
 * * `budget`: maximum number of thinking tokens, at least 0; may instead be the first of `args`, or `thinking_budget`
 * in the request's extra arguments.
 * * `start` and `end`: token ids that open and close thinking; by default the tokens `<think>` and `</think>`. An empty
 * `start` means that every answer begins with thinking.
 * * `optional`: if true, the processor does nothing when the vocabulary lacks these default tokens.
 */
export function createProcessor({ args, kwargs, extra, model }: ProcessorCall): TokenProcessor {
  const budget = numberOf("budget", kwargs["budget"] ?? args[0] ?? extra["thinking_budget"], 0);
  if (kwargs["optional"] === true && isUnmarked()) return () => undefined;
  const start = markOf("start", "<think>");
  const end = markOf("end", "</think>");
  if (end.length === 0) throw new Error("end must hold at least one token id");

  function isUnmarked(): boolean {
    return model.tokenOf("<think>") === null || model.tokenOf("</think>") === null;
  }

  function markOf(name: string, text: string): readonly number[] {
    const given = kwargs[name] ?? null;
    if (given !== null) return tokenIdsOf(name, given, model.vocabularySize);
    const id = model.tokenOf(text);
    if (id === null) throw new Error(`this model has no token ${text}; ${name} must give its token ids`);
    return [id];
  }

  return ({ promptTokenIds, answerTokenIds, logits }) => {
    const ids = start.length === 0 ? answerTokenIds : [...promptTokenIds, ...answerTokenIds];
    const opened = start.length === 0 ? 0 : findLast(ids, start) + start.length;
    const isThinking = opened >= start.length && !has(ids, end, opened);
    const answerStart = ids.length - answerTokenIds.length;
    if (!isThinking || ids.length - Math.max(opened, answerStart) < budget) return;
    const next = end[begunCount(ids, end, Math.max(opened, answerStart))];
    const score = logits[next];
    // Another rule forbids the closing token. Thinking then continues, because forcing the closing token would leave no
    // token to draw.
    if (score === -Infinity) return;
    logits.fill(-Infinity);
    logits[next] = score;
  };
}

/** Returns the last index in `ids` at which a sequence begins; -1 if it does not occur. */
function findLast(ids: readonly number[], sequence: readonly number[]): number {
  let from = ids.length - sequence.length;
  while (from >= 0 && !isAt(from, ids, sequence)) from -= 1;
  return Math.max(from, -1);
}

/** True if a sequence occurs in `ids` at or after the index `from`. */
function has(ids: readonly number[], sequence: readonly number[], from: number): boolean {
  return findLast(ids, sequence) >= from;
}

/**
 * Returns how many of a sequence's first tokens are at the end of `ids`; for example 2 if `ids` ends with the first
 * two. Counts neither the complete sequence nor ids before the index `from`.
 */
function begunCount(ids: readonly number[], sequence: readonly number[], from: number): number {
  let count = Math.min(sequence.length - 1, ids.length - from);
  while (count > 0 && !isAt(ids.length - count, ids, sequence.slice(0, count))) count -= 1;
  return count;
}

function isAt(from: number, ids: readonly number[], sequence: readonly number[]): boolean {
  return sequence.every((id, index) => ids[from + index] === id);
}
