// Plans groups of recorded answers with their rewards, and gives the reason for each excluded answer. Does no I/O.
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type JudgedAnswer,
  judgeAnswers,
  type LeftOut,
  leftOutAnswer,
  type LeftOutReason,
  type PlannedAnswer,
  type PlanInput,
} from "./judge-answers.ts";

/**
 * Answers to one prompt with differing rewards. At least one answer is trained on; the others may only serve for
 * comparison.
 */
export interface PlannedGroup {
  readonly promptHash: string;
  readonly answers: readonly PlannedAnswer[];
}

export interface GroupPlan {
  /** Planned groups of answers, in the order of their first feedback. */
  readonly groups: readonly PlannedGroup[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Plans the groups of answers. Yields to the event loop between prompts, because there may be many thousand answers.
 */
export async function planGroups(input: PlanInput): Promise<GroupPlan> {
  const { prompts, leftOut: elsewhere } = judgeAnswers(input);
  const leftOut = [...elsewhere];
  const groups: PlannedGroup[] = [];
  for (const { promptHash, answers: judged } of prompts) {
    const { answers, leftOut: others } = planPrompt(input, judged);
    leftOut.push(...others);
    if (answers.length > 0) groups.push({ promptHash, answers });
    await nextTurn();
  }
  return { groups, leftOut };
}

interface PromptPlan {
  /** Answers of the group; empty if training on them would have no effect. */
  readonly answers: readonly PlannedAnswer[];
  readonly leftOut: readonly LeftOut[];
}

function planPrompt(input: PlanInput, judged: readonly JudgedAnswer[]): PromptPlan {
  const leftOut: LeftOut[] = [];
  const answers: PlannedAnswer[] = [];
  for (const answer of judged) {
    const { planned, score, records } = answer;
    if (typeof planned !== "string") answers.push(planned);
    // Reports an unused answer only if there is feedback on this answer itself. Some answers are in the list only
    // because feedback says that another answer is better.
    else if (score.feedback.length + records.length > 0)
      leftOut.push(leftOutAnswer(input, answer, planned, score, records.length));
  }
  const fault = groupFault(answers);
  if (fault === null) return { answers, leftOut };
  for (const answer of answers) {
    const reason = answer.use === "compared" ? "already_trained" : fault;
    leftOut.push(leftOutAnswer(input, answer, reason, answer));
  }
  return { answers: [], leftOut };
}

/** Difference between two rewards below which they count as equal, as in training. */
export const rewardResolution = 1e-12;

/** Returns the reason why training on a prompt's answers would have no effect; null if it would have one. */
function groupFault(answers: readonly PlannedAnswer[]): LeftOutReason | null {
  if (answers.every(({ use }) => use === "compared")) return "already_trained";
  if (answers.length === 1) return "single_answer";
  const [{ reward: first }] = answers;
  return answers.some(({ reward }) => Math.abs(reward - first) > rewardResolution) ? null : "equal_rewards";
}
