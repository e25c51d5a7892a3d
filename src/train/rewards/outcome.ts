// Summarizes the plan of a feedback job for display. Pure.
import type { FeedbackOutcome, RewardedAnswer } from "../../base/domain/rewards/feedback-outcome.ts";
import { answerId } from "../../base/domain/rewards/training-source.ts";
import { callReference } from "../../base/domain/recordings/call-reference.ts";
import { centeredRewards } from "../trajectories/centered-rewards.ts";
import type { FeedbackJobPlan } from "./feedback-jobs.ts";
import { tokensOf } from "./groups/group-lines.ts";
import {
  type LeftOut,
  type LeftOutReason,
  leftOutReasons,
  type PlannedAnswer,
} from "./groups/judge-answers.ts";
import { personOf } from "./scoring/opinions.ts";

/**
 * Summarizes the plan of a feedback job.
 *
 * @param texts beginnings of answers, by {@link answerId}
 */
export function outcomeOf(
  { gathered, groups, leftOut, feedbackCount }: FeedbackJobPlan,
  texts: ReadonlyMap<string, string>,
): FeedbackOutcome {
  const { calls, model } = gathered;
  const answers = groups.flatMap((group) => group.answers);
  const trained = answers.filter(({ use }) => use === "trained");
  const people = new Set(answers.flatMap(({ feedback }) => feedback.map(personOf)));
  const { counts: leftOutCounts, reasons } = leftOutByReason(leftOut);
  return {
    counts: {
      feedback: feedbackCount,
      groups: groups.length,
      answers: trained.length,
      compared: answers.length - trained.length,
      people: people.size,
      tokens: groups.reduce((sum, group) => sum + tokensOf(group), 0),
      trainedTokens: groups.reduce((sum, group) => sum + trainedTokensOf(group), 0),
      leftOut: leftOutCounts,
    },
    reasons,
    groups: groups.map((group) => ({
      prompt: calls.get(group.answers[0].requestId)?.promptText ?? "",
      answers: group.answers.map((answer) => rewarded(answer, texts, model.projectId)),
    })),
    leftOut,
  };
}

/** Counts the tokens that a job trains on. It skips answers whose reward is the mean of their group. */
function trainedTokensOf({ answers }: FeedbackJobPlan["groups"][number]): number {
  const distances = centeredRewards(answers.map(({ reward }) => reward));
  return answers.reduce(
    (sum, { use, answerTokenCount }, index) =>
      sum + (use === "trained" && distances[index] !== 0 ? answerTokenCount : 0),
    0,
  );
}

/** Counts the excluded answers by reason, and explains each reason. */
export function leftOutByReason(
  leftOut: readonly Pick<LeftOut, "reason">[],
): Pick<FeedbackOutcome, "reasons"> & { readonly counts: FeedbackOutcome["counts"]["leftOut"] } {
  const counts = new Map<LeftOutReason, number>();
  for (const { reason } of leftOut) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return {
    counts: Object.fromEntries(counts),
    reasons: Object.fromEntries([...counts.keys()].map((reason) => [reason, leftOutReasons[reason]])),
  };
}

function rewarded(
  answer: PlannedAnswer,
  texts: ReadonlyMap<string, string>,
  projectId: string,
): RewardedAnswer {
  const { requestId, choice, step, reward, peopleCount, terms, feedback, use } = answer;
  return {
    call: callReference({ projectId, requestId }, choice),
    text: texts.get(answerId(answer)) ?? "",
    step,
    reward,
    peopleCount,
    terms,
    feedbackIds: feedback.map(({ id }) => id),
    use,
  };
}
