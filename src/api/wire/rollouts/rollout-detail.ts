// API format of one rollout with its calls, and with the sequences to which the calls belong.
import { Type } from "typebox";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { Rollout } from "../../../base/domain/rollouts/rollout.ts";
import type { LinkedRollout, RolloutCall } from "../../../train/rollouts/rollout-answers.ts";
import type { RolloutTrajectories } from "../../../train/rollouts/rollout-service.ts";
import { answerOf } from "../fields/resource.ts";
import { trajectoryBody, trajectorySchema } from "../trajectory.ts";
import { orNull } from "../nullable.ts";
import { rolloutRows } from "./rollout.ts";

const dateTime = Type.String({ format: "date-time" });

const callAnswer = answerOf<RolloutCall>()("RolloutCall", {
  request_id: Type.String(),
  call: [
    Type.String({ description: "Reference of the recorded call, for feedback." }),
    (call): string => callReference(call),
  ],
  version: [Type.Integer({ description: "Version that answered." }), ({ step }): number => step],
  model: Type.String({ description: "Name of the model in the request." }),
  started_at: dateTime,
  ended_at: dateTime,
  prompt_tokens: [Type.Integer(), ({ usage }): number => usage.promptTokens],
  completion_tokens: [Type.Integer(), ({ usage }): number => usage.completionTokens],
  finish_reasons: [Type.Array(Type.String()), ({ finishReasons }): string[] => [...finishReasons]],
  is_whole: Type.Boolean({
    description: "False if the call was too large to be recorded with its tokens. It is then not trained on.",
  }),
  is_delivered: [
    Type.Boolean({
      description:
        "False if the connection broke or the response failed before the whole answer was sent. The call is then not trained on.",
    }),
    ({ isUndelivered = false }): boolean => !isUndelivered,
  ],
  replaced_by: orNull(Type.String(), {
    description:
      "Request id of the call with which the client repeated this one, because it did not receive the answer. The call is then not trained on. Null if the client did not repeat the call.",
  }),
});

const placeSchema = Type.Object({
  request_id: Type.String(),
  choice: Type.Integer({ minimum: 0, description: "Index of the choice." }),
});

const sequenceSchema = Type.Object(
  {
    answers: Type.Array(placeSchema, {
      description:
        "Answers of the sequence, in order. The prompt of each answer begins with the prompt and the sampled tokens of the answer before it.",
    }),
    branch_of: orNull(placeSchema, {
      description:
        "Earlier answer from which this sequence branches off: both begin with the same tokens, but the client rewrote the history, or another call continues the same answer. Null if the first token already differs from all earlier answers.",
    }),
    shared_tokens: Type.Integer({
      minimum: 0,
      description: "Number of first tokens that the sequence shares with the answer `branch_of`.",
    }),
    token_count: Type.Integer({ minimum: 1, description: "Number of tokens of the sequence." }),
  },
  { title: "RolloutSequence" },
);

export interface DetailedRollout extends Rollout {
  readonly linked: LinkedRollout;
}

export const rolloutDetailAnswer = answerOf<DetailedRollout>()("RolloutDetail", {
  ...rolloutRows,
  calls: [
    Type.Array(callAnswer.schema, { description: "Answered calls, in the order in which they ended." }),
    ({ linked }) => linked.calls.map(callAnswer.body),
  ],
  sequences: [
    Type.Array(sequenceSchema, {
      description: "Sequences that the calls form, in the order of their first calls.",
    }),
    ({ linked }) => sequencesBody(linked),
  ],
});

export const rolloutTrajectoriesAnswer = answerOf<RolloutTrajectories>()("RolloutTrajectories", {
  trajectories: [
    Type.Array(trajectorySchema, {
      description:
        "First the calls of the rollout as one trajectory with a history for each sequence, then a trajectory for each call with its own reward. Each Choice has the `request_id` of its call. Empty if no call was recorded.",
    }),
    ({ trajectories }) => trajectories.map(trajectoryBody),
  ],
  calls_without_tokens: Type.Integer({
    minimum: 0,
    description:
      "Number of calls that were too large to be recorded with their tokens. No trajectory contains them.",
  }),
});

function sequencesBody({ answers, sequences }: LinkedRollout) {
  const placeOf = (index: number) => ({
    request_id: answers[index].call.requestId,
    choice: answers[index].choiceIndex,
  });
  return sequences.map(({ answers: indices, branchOf, sharedTokens, tokenCount }) => ({
    answers: indices.map(placeOf),
    branch_of: branchOf === null ? null : placeOf(branchOf),
    shared_tokens: sharedTokens,
    token_count: tokenCount,
  }));
}
