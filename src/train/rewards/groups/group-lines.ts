// Writes planned groups of answers as a job's training data: one JSON line per group, with the recorded tokens. If the
// plan exceeds the limits of one job, writes only the first groups.
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { outlinesOf } from "../../../base/domain/summaries/outline-group.ts";
import type { TrajectoryOutline } from "../../../base/domain/summaries/trajectory-outline.ts";
import type { CompletionStore } from "../../../base/domain/recordings/completion-store.ts";
import { feedbackMark, type TrainingSource } from "../../../base/domain/rewards/training-source.ts";
import type { Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import type { PlannedAnswer, PlanInput } from "./judge-answers.ts";
import type { PlannedGroup } from "./plan-groups.ts";
import { recordedTrajectory } from "./recorded-trajectory.ts";

/** Limits on the size of one job. The first group is included even if it exceeds them. */
export interface JobLimits {
  readonly groupsMax: number;
  /** Maximum number of tokens, counting prompts and answers. */
  readonly tokensMax: number;
  /** Maximum size of the job's data lines in bytes. */
  readonly bytesMax: number;
}

export interface GroupLines {
  /**
   * Data lines of the job, one per group; a long line is folded into several parts
   * (`base/domain/text/folded-lines.ts`).
   */
  readonly lines: readonly string[];
  readonly outlines: readonly TrajectoryOutline[];
  readonly sources: readonly TrainingSource[];
  /** The groups that are in the lines. */
  readonly groups: readonly PlannedGroup[];
  readonly tokenCount: number;
}

/** Returns the first groups of a plan, as many as fit into one job. Pure. */
export function cutToJob(
  groups: readonly PlannedGroup[],
  { groupsMax, tokensMax }: Pick<JobLimits, "groupsMax" | "tokensMax">,
): readonly PlannedGroup[] {
  let tokenCount = 0;
  return groups.slice(0, groupsMax).filter((group, index) => {
    tokenCount += tokensOf(group);
    return index === 0 || tokenCount <= tokensMax;
  });
}

/** Returns the number of tokens that a group adds to a job. */
export function tokensOf({ answers }: PlannedGroup): number {
  return answers.reduce((sum, { use, tokenCount }) => sum + (use === "trained" ? tokenCount : 0), 0);
}

/**
 * Reads the recordings of the groups, one group at a time to save memory, and writes the data lines. Skips groups whose
 * recordings were deleted meanwhile.
 */
export async function writeGroups(
  completions: Pick<CompletionStore, "find">,
  groups: readonly PlannedGroup[],
  { model, trainedOn }: Pick<PlanInput, "model" | "trainedOn">,
  { bytesMax }: Pick<JobLimits, "bytesMax">,
): Promise<GroupLines> {
  const lines: string[] = [];
  const outlines: TrajectoryOutline[] = [];
  const written: PlannedGroup[] = [];
  let byteCount = 0;
  for (const group of groups) {
    const trajectories = await trajectoriesOf(completions, model.projectId, group);
    if (trajectories === null) continue;
    const whole: TrajectoryGroup = {
      trajectories,
      ...withoutMore,
      metadata: { prompt_hash: group.promptHash },
    };
    const line = JSON.stringify(whole);
    byteCount += line.length;
    if (written.length > 0 && byteCount > bytesMax) break;
    outlines.push(...outlinesOf(whole, { part: lines.length, groupIndex: written.length }));
    lines.push(...foldedLine(line));
    written.push(group);
  }
  const sources = written.flatMap(({ answers }) =>
    answers.map((answer) => sourceOf(answer, trainedOn(answer))),
  );
  return {
    lines,
    outlines,
    sources,
    groups: written,
    tokenCount: written.reduce((sum, group) => sum + tokensOf(group), 0),
  };
}

const withoutMore = { exceptions: [], metrics: {}, logs: [], extra: {} } as const;

async function trajectoriesOf(
  completions: Pick<CompletionStore, "find">,
  projectId: string,
  { answers }: PlannedGroup,
): Promise<readonly Trajectory[] | null> {
  const trajectories = new Map<PlannedAnswer, Trajectory>();
  for (const requestId of new Set(answers.map((answer) => answer.requestId))) {
    const completion = await completions.find({ projectId, requestId });
    for (const answer of answers.filter((one) => one.requestId === requestId)) {
      const trajectory = completion && recordedTrajectory(completion, answer);
      if (trajectory === null) return null;
      trajectories.set(answer, trajectory);
    }
  }
  return answers.flatMap((answer) => trajectories.get(answer) ?? []);
}

function sourceOf(answer: PlannedAnswer, known: ReadonlySet<string>): TrainingSource {
  const { requestId, choice, step, reward, peopleCount, use } = answer;
  const feedback = answer.feedback.map(({ id, contentHash }) => ({
    id,
    contentHash,
    isNew: !known.has(feedbackMark({ id, contentHash })),
  }));
  return { requestId, choice, step, reward, peopleCount, feedback, use };
}
