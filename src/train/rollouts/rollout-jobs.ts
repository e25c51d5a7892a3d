// Creates training jobs from finished rollouts: selects the groups, and writes their trajectories as the job's data.
// The database then stores the job together with its rollouts, each of which belongs to at most one job.
import type { Clock } from "../../base/domain/clock.ts";
import type { JobCreation, JobDraft } from "../../base/domain/job.ts";
import type { ModelStore } from "../../base/domain/model.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { AutomaticHold } from "../../base/domain/rewards/stored-rule.ts";
import type {
  Rollout,
  RolloutChoice,
  RolloutGroup,
  RolloutOutcome,
  RolloutStore,
} from "../../base/domain/rollouts/rollout.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { outlinesOf } from "../../base/domain/summaries/outline-group.ts";
import type { TrajectoryOutline } from "../../base/domain/summaries/trajectory-outline.ts";
import { foldedLine } from "../../base/domain/text/folded-lines.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { oldestStep } from "../../base/domain/version-age.ts";
import { newJob } from "../jobs/new-job.ts";
import { readRollout } from "./rollout-answers.ts";
import { rolloutTrajectories } from "./rollout-trajectories.ts";
import type { RolloutSettings } from "./settings.ts";

export interface RolloutJobDependencies {
  readonly rollouts: Pick<RolloutStore, "groups" | "find">;
  readonly completions: Pick<CompletionStore, "list" | "find">;
  readonly models: Pick<ModelStore, "newestVersion">;
  readonly clock: Clock;
  readonly settings: Pick<RolloutSettings, "jobBytesMax" | "rolloutsPerJob">;
}

export interface RolloutJobRequest {
  readonly choice: Omit<RolloutChoice, "stepMin">;
  /** Maximum distance of a rollout's version to the newest version; null if unlimited. */
  readonly versionAgeMax: number | null;
  /** Reward of expired rollouts if `choice` includes them; null otherwise. */
  readonly expiredReward: number | null;
  readonly groupsMax: number;
}

/** Automatic rule that creates a job, and the maximum number of tokens of the job's calls. */
export interface RolloutRule {
  readonly hold: AutomaticHold;
  readonly tokensMax: number;
}

/** Stores a job with its training data. */
export type SubmitJob = (
  job: JobDraft,
  lines: Iterable<string>,
  more: Pick<JobCreation, "outlines" | "rollouts">,
) => Promise<{ readonly id: string }>;

interface WrittenGroups {
  readonly lines: string[];
  readonly outlines: TrajectoryOutline[];
  readonly rolloutIds: string[];
  /** Number of prompt and answer tokens of all calls. */
  tokenCount: number;
}

/**
 * Creates a job that trains on rollouts.
 *
 * @returns the job's id; null if there is nothing to train on
 * @throws ServiceError `not_found` and `conflict` for rollouts that were named but cannot be used; `conflict` if
 * another job took some of the rollouts meanwhile; `too_large` if named rollouts exceed the size of a job
 */
export async function createRolloutJob(
  dependencies: RolloutJobDependencies,
  { choice, versionAgeMax, expiredReward, groupsMax }: RolloutJobRequest,
  identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
  submit: SubmitJob,
  rule: RolloutRule | null = null,
): Promise<string | null> {
  const { rollouts, models, clock, settings } = dependencies;
  const limits = { groupsMax, rolloutsMax: settings.rolloutsPerJob };
  const newest = versionAgeMax === null ? null : await models.newestVersion(choice.modelId);
  const stepMin = oldestStep(newest?.step ?? 0, versionAgeMax);
  const { groups } = await rollouts.groups({ ...choice, stepMin }, limits, clock.now());
  if (choice.ids !== null) await requireAll(dependencies, choice, groups);
  const outcomeOf = ({ outcome }: Rollout): RolloutOutcome =>
    outcome ?? { reward: expiredReward ?? 0, metrics: {}, callRewards: {} };
  const limited = cutToTokens(groups, rule?.tokensMax ?? Infinity);
  const written = await writeGroups(dependencies, limited, outcomeOf, { mustFit: choice.ids !== null });
  if (written.rolloutIds.length === 0) return null;
  const job = newJob({
    id: newUuid7(clock),
    modelId: choice.modelId,
    createdAt: clock.now(),
    ...identity,
  });
  const { lines, outlines, rolloutIds, tokenCount } = written;
  const standing = rule && { hold: rule.hold, tokenCount, promptHashes: [] };
  return (await submit(job, lines, { outlines, rollouts: { rolloutIds, standing } })).id;
}

/** Returns the first group, and further groups as long as all together have at most `tokensMax` tokens. */
function cutToTokens(groups: readonly RolloutGroup[], tokensMax: number): readonly RolloutGroup[] {
  let tokenCount = 0;
  return groups.filter((group, index) => {
    tokenCount += tokensOf(group);
    return index === 0 || tokenCount <= tokensMax;
  });
}

function tokensOf({ rollouts }: RolloutGroup): number {
  return rollouts.reduce((sum, rollout) => sum + rollout.tokenCount, 0);
}

async function writeGroups(
  { completions, settings }: RolloutJobDependencies,
  groups: readonly RolloutGroup[],
  outcomeOf: (rollout: Rollout) => RolloutOutcome,
  { mustFit }: { readonly mustFit: boolean },
): Promise<WrittenGroups> {
  const written: WrittenGroups = { lines: [], outlines: [], rolloutIds: [], tokenCount: 0 };
  let byteCount = 0;
  for (const [groupIndex, chosen] of groups.entries()) {
    const { key, rollouts } = chosen;
    const trajectories = [];
    for (const rollout of rollouts)
      trajectories.push(
        ...rolloutTrajectories(rollout, await readRollout(completions, rollout.id), outcomeOf(rollout)),
      );
    const metadata = { rollout_group: key };
    const group: TrajectoryGroup = {
      trajectories,
      exceptions: [],
      metadata,
      metrics: {},
      logs: [],
      extra: {},
    };
    const line = JSON.stringify(group);
    byteCount += line.length;
    if (byteCount > settings.jobBytesMax && groupIndex > 0) {
      if (mustFit) throw tooLarge(settings.jobBytesMax);
      break;
    }
    written.outlines.push(...outlinesOf(group, { part: written.lines.length, groupIndex }));
    written.lines.push(...foldedLine(line));
    written.rolloutIds.push(...rollouts.map(({ id }) => id));
    written.tokenCount += tokensOf(chosen);
  }
  return written;
}

/** @throws ServiceError with the reason why one of the named rollouts cannot be used */
async function requireAll(
  { rollouts, clock }: Pick<RolloutJobDependencies, "rollouts" | "clock">,
  { ids, modelId }: Pick<RolloutChoice, "ids" | "modelId">,
  groups: readonly RolloutGroup[],
): Promise<void> {
  const usable = new Set(groups.flatMap((group) => group.rollouts.map(({ id }) => id)));
  const missing = ids?.find((id) => !usable.has(id));
  if (missing === undefined) return;
  const rollout = await rollouts.find(missing, clock.now());
  if (rollout?.modelId !== modelId) throw notFound("rollout of this model", missing);
  throw new ServiceError({ code: "conflict", message: `The rollout ${missing} ${whyUnusable(rollout)}` });
}

function whyUnusable({ state, jobId }: Rollout): string {
  if (jobId !== null) return `is trained on by the job ${jobId}, and none is trained on twice.`;
  if (state === "expired")
    return "has expired without a reward. Finish it with a reward, or send expired_reward.";
  if (state === "open") return "is still open. Finish it first.";
  return state === "cancelled"
    ? "was cancelled, so it has no reward to train with."
    : "does not fit into this job. Name fewer rollouts.";
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `These rollouts have more than ${bytesMax} bytes of training data, the most of one job. Name fewer.`;
  return new ServiceError({ code: "too_large", message });
}
