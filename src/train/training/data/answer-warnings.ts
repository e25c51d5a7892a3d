// Warnings about the answers that a job trains on: cut off, all alike, or earning all the same. Pure.
import type { JobCounts } from "../../../base/domain/job.ts";
import { mean } from "../../trajectories/statistics.ts";
import type { AnswerSummary } from "./answer-summary.ts";

/** Answers that were cut off have mostly not said what they earn by. */
const cutShareMax = 0.25;

/** A policy that says one thing to nearly everything has nothing left to compare. */
const sameShareMin = 0.9;

/** Fewer answers than this cause no warning. */
const answersMin = 4;

export function answerWarnings(
  answers: AnswerSummary,
  rewards: readonly number[],
  counts: Pick<JobCounts, "groupsSubmitted" | "groupsTrainable">,
): readonly string[] {
  return [cutWarning(answers), spreadWarning(answers, rewards, counts)].flatMap((warning) => warning ?? []);
}

function cutWarning({ endedCount, cutCount, lengthMean }: AnswerSummary): string | null {
  if (endedCount < answersMin || cutCount <= cutShareMax * endedCount) return null;
  return (
    `${cutCount} of ${endedCount} answers (${percent(cutCount / endedCount)}) were cut off at their token limit ` +
    `(finish_reason "length"); answers have ${Math.round(lengthMean)} tokens on average. ` +
    "Raise max_completion_tokens, or reward shorter answers: an answer that is cut off rarely earns what it could."
  );
}

function spreadWarning(
  { lastCount, sameCount }: AnswerSummary,
  rewards: readonly number[],
  { groupsSubmitted, groupsTrainable }: Pick<JobCounts, "groupsSubmitted" | "groupsTrainable">,
): string | null {
  const [least, most] = rewards.reduce(
    ([low, high], reward) => [Math.min(low, reward), Math.max(high, reward)],
    [Infinity, -Infinity],
  );
  if (groupsTrainable > 0 || rewards.length < answersMin) return null;
  const earned =
    least === most
      ? `All ${rewards.length} answers earned ${shown(least)}, so that nothing trains.`
      : `Answers earned ${shown(mean(rewards))} on average, each as much as the others of its group, so that nothing trains.`;
  const isSame = groupsSubmitted > 1 && sameCount >= sameShareMin * Math.max(lastCount, answersMin);
  const rest = isSame
    ? `${sameCount} of ${lastCount} answers to ${groupsSubmitted} groups are the same. Unless that is the answer you want, the policy has collapsed: go back to an earlier version (delete the newer ones), lower learning_rate, or sample at a higher temperature.`
    : "The tasks are too hard for this version, or it has learned them. Take tasks of which some answers succeed and some fail, reward partial success, or sample more answers a task at a higher temperature.";
  return `${earned} ${rest}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}
