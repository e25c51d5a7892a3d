// Converts the reference training sequences to recorded trajectories, for tests that train over the API.
import type { JsonObject } from "../src/base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../src/base/domain/trajectory.ts";
import { type GoldenSequence, readGoldenTraining } from "./golden-training.ts";

/**
 * Returns two groups of three trajectories with two answers each. One trajectory was recorded without
 * log-probabilities.
 */
export function goldenGroups(): TrajectoryGroup[] {
  const { sequences } = readGoldenTraining();
  return [0, 1].map((group) =>
    groupOf(sequences.filter((sequence) => sequence.group === group).map((each) => trajectoryOf(each))),
  );
}

export function groupOf(trajectories: readonly Trajectory[]): TrajectoryGroup {
  return { trajectories, exceptions: [], metadata: {}, metrics: {}, logs: [], extra: {} };
}

export function trajectoryOf(sequence: GoldenSequence, reward = sequence.reward): Trajectory {
  return {
    messagesAndChoices: answersOf(sequence).map(([start, end]) => choiceOf(sequence, start, end)),
    tools: null,
    additionalHistories: [],
    reward,
    initialPolicyVersion: 0,
    finalPolicyVersion: 0,
    metrics: {},
    metadata: {},
    logs: [],
    startTime: null,
    extra: {},
  };
}

/** Returns the token ranges that are trained. */
function answersOf({ assistant_mask: mask }: GoldenSequence): [number, number][] {
  const starts = mask.flatMap((trains, index) => (trains && !mask[index - 1] ? [index] : []));
  return starts.map((start) => {
    const length = mask.slice(start).indexOf(0);
    return [start, length === -1 ? mask.length : start + length];
  });
}

function choiceOf(
  { token_ids: ids, old_logprobs: logprobs }: GoldenSequence,
  start: number,
  end: number,
): JsonObject & { finish_reason: string; message: JsonObject } {
  const content = ids
    .slice(start, end)
    .map((id, index) => ({ token: `token_id:${id}`, logprob: logprobs[start + index], top_logprobs: [] }));
  return {
    finish_reason: "stop",
    message: { role: "assistant", content: "" },
    logprobs: logprobs[start] === null ? null : { content },
    prompt_token_ids: ids.slice(0, start),
    token_ids: ids.slice(start, end),
  };
}
