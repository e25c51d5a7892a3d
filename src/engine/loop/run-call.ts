// Runs one planned call of a step: makes room for what it computes, hands the tokens to the runner, and counts them as
// computed. Draws nothing; says for which sequences a next token can now be drawn. A row that was preempted computes its
// answer again as it did the first time, token by token: as parts of a prompt they would get other last digits, and the
// request perhaps another answer than undisturbed.
import type { ModelRunner } from "../model-runner.ts";
import { slotOf, type Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import type { PlannedCall, PromptChunk } from "./scheduler.ts";
import type { Sequence } from "./sequence.ts";

/** Next-token scores of a sequence whose every token is computed; valid until the next call. */
export interface ScoredSequence {
  readonly sequence: Sequence;
  readonly logits_V: Float32Array;
}

/** A lane or a prompt may have gone since the step was planned; what is left of the call is run. */
export async function runCall(
  call: PlannedCall<Sequence>,
  lanes: Lanes,
  runner: ModelRunner,
): Promise<readonly ScoredSequence[]> {
  const lane = lanes.find(call.laneId);
  if (lane === undefined) return [];
  if (call.kind === "decode") return decodeRows(lane, lanes, runner);
  const chunks = call.chunks.filter(({ prompt }) => prompt.slot !== null);
  return prefillChunks(chunks, { lane, lanes, runner });
}

async function decodeRows(lane: Lane, lanes: Lanes, runner: ModelRunner): Promise<readonly ScoredSequence[]> {
  const rows = lane.rows.slice(0, lane.arrangeRows());
  if (rows.length === 0) return [];
  lanes.makeRoom(lane, Math.max(...rows.map(({ computedCount }) => computedCount + 1)));
  const logits_BV = await runner.decode(
    lane.kv,
    lane.adapter,
    rows.map(({ inputTokenId }) => inputTokenId),
  );
  const { vocabularySize } = runner.shape;
  return rows.flatMap((sequence, row) => {
    sequence.computedCount += 1;
    if (!sequence.isComputed) return [];
    const logits_V = logits_BV.subarray(row * vocabularySize, (row + 1) * vocabularySize);
    return [{ sequence, logits_V }];
  });
}

async function prefillChunks(
  chunks: readonly PromptChunk<Sequence>[],
  { lane, lanes, runner }: { readonly lane: Lane; readonly lanes: Lanes; readonly runner: ModelRunner },
): Promise<readonly ScoredSequence[]> {
  if (chunks.length === 0) return [];
  lanes.makeRoom(lane, Math.max(...chunks.map(({ start, count }) => start + count)));
  const logits = await runner.prefill(
    lane.kv,
    lane.adapter,
    chunks.map(({ prompt, start, count }) => ({
      slot: slotOf(prompt),
      tokenIds: prompt.running.request.prompt.tokenIds.slice(start, start + count),
      logits: start + count === prompt.tokenCount ? "last" : "none",
    })),
  );
  return chunks.flatMap(({ prompt, count }, index) => {
    prompt.computedCount += count;
    return prompt.isComputed ? [{ sequence: prompt, logits_V: logits[index] }] : [];
  });
}
