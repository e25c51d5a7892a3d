// Turns graded answers into the data of a training job, and computes the metrics of a step.
import { outlinesOf } from "../../base/domain/summaries/outline-group.ts";
import type { TrajectoryOutline } from "../../base/domain/summaries/trajectory-outline.ts";
import { foldedLine } from "../../base/domain/text/folded-lines.ts";
import type { ChoiceRecord, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import type { GradedAnswer, GradedItem } from "./sample-answers.ts";

export interface StepData {
  readonly lines: readonly string[];
  readonly outlines: readonly TrajectoryOutline[];
}

/** True if the answers to an item differ in their rewards. From equal rewards, the model learns nothing. */
export function hasSpread({ answers }: GradedItem): boolean {
  return answers.some(({ grade }) => grade.reward !== answers[0].grade.reward);
}

/** @param version version that gave the answers */
export function stepData(items: readonly GradedItem[], version: number, at: Date): StepData {
  const lines: string[] = [];
  const outlines: TrajectoryOutline[] = [];
  items.forEach((graded, groupIndex) => {
    const group = groupOf(graded, version, at);
    outlines.push(...outlinesOf(group, { part: lines.length, groupIndex }));
    lines.push(...foldedLine(JSON.stringify(group)));
  });
  return { lines, outlines };
}

function groupOf({ item, answers }: GradedItem, version: number, at: Date): TrajectoryGroup {
  const trajectories = answers.map(({ choice, grade }: GradedAnswer) => ({
    // Safe cast: a choice of an answer has the fields of a recorded choice.
    messagesAndChoices: [...item.messages, choice as ChoiceRecord],
    tools: item.tools,
    additionalHistories: [],
    reward: grade.reward,
    initialPolicyVersion: version,
    finalPolicyVersion: version,
    metrics: { ...grade.subRewards },
    metadata: { grader_error: grade.error?.kind ?? null },
    logs: [],
    startTime: at.toISOString(),
    extra: {},
  }));
  const metadata = { line: item.index + 1 };
  return { trajectories, exceptions: [], metadata, metrics: {}, logs: [], extra: {} };
}

/** Returns metrics of a step's answers, such as their mean reward. */
export function rewardMetrics(items: readonly GradedItem[]): Readonly<Record<string, number>> {
  const answers = items.flatMap((item) => item.answers);
  const rewards = answers.map(({ grade }) => grade.reward);
  return {
    train_reward_mean: mean(rewards),
    reward_min: Math.min(...rewards),
    reward_max: Math.max(...rewards),
    answers: answers.length,
    grader_errors: answers.filter(({ grade }) => grade.error !== null).length,
    items: items.length,
    items_failed: items.filter(({ fault }) => fault !== null).length,
    items_without_spread: items.filter((item) => !hasSpread(item)).length,
  };
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
