// Converts a rollout to trajectories for training. Each sequence becomes a history, in which each answer is a choice
// with exactly the tokens that the model sampled. A call with a reward of its own becomes a trajectory of its own.
import type { Rollout, RolloutOutcome } from "../../base/domain/rollouts/rollout.ts";
import type { History, HistoryItem, Trajectory } from "../../base/domain/trajectory.ts";
import { choiceRecord, messagesOf } from "../trajectories/choice-record.ts";
import type { LinkedRollout, RolloutAnswer } from "./rollout-answers.ts";

/** Returns the trajectories of a rollout; none if no call was recorded. */
export function rolloutTrajectories(
  rollout: Rollout,
  { answers, sequences }: Pick<LinkedRollout, "answers" | "sequences">,
  { reward, metrics, callRewards }: RolloutOutcome,
): readonly Trajectory[] {
  const isApart = ({ call }: RolloutAnswer): boolean => Object.hasOwn(callRewards, call.requestId);
  const histories = sequences
    .map(({ answers: indices }) => indices.map((index) => answers[index]))
    .filter((sequence) => !sequence.every(isApart))
    .map((sequence) => historyOf(sequence, isApart));
  const apart = answers.filter(isApart);
  const named = { rollout_id: rollout.id, ...rollout.metadata };
  const about = (of: readonly RolloutAnswer[]) => {
    const steps = of.map(({ call }) => call.step);
    return {
      initialPolicyVersion: Math.min(...steps),
      finalPolicyVersion: Math.max(...steps),
      logs: [],
      startTime: rollout.createdAt.toISOString(),
      extra: {},
    };
  };
  const own = apart.map((answer) => ({
    ...historyOf([answer], () => false),
    additionalHistories: [],
    reward: callRewards[answer.call.requestId],
    metrics: {},
    metadata: { ...named, request_id: answer.call.requestId },
    ...about([answer]),
  }));
  const [main, ...others] = histories;
  if (main === undefined) return own;
  const whole = { ...main, additionalHistories: others, reward, metrics, metadata: named, ...about(answers) };
  return [whole, ...own];
}

/** @param isContext true for an answer that is not trained on itself, but only as part of later prompts */
function historyOf(
  sequence: readonly RolloutAnswer[],
  isContext: (answer: RolloutAnswer) => boolean,
): History {
  const items: HistoryItem[] = [];
  let saidCount = 0;
  for (const answer of sequence) {
    const { call, choice, choiceIndex, promptTokenIds } = answer;
    const messages = call.content === null ? [] : messagesOf(call.content.prompt);
    items.push(...messages.slice(saidCount));
    saidCount = messages.length + 1;
    const { message, ...record } = choiceRecord(choice, choiceIndex, promptTokenIds);
    const { requestId: request_id } = call;
    items.push(isContext(answer) ? { ...message, role: "assistant" } : { message, ...record, request_id });
  }
  const prompt = sequence.at(-1)?.call.content?.prompt;
  return { messagesAndChoices: items, tools: prompt?.kind === "conversation" ? prompt.tools : null };
}
