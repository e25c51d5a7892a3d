// Functions that a database provides to the store contracts, and sample data. A database is supported if it passes all
// contracts.
import type { TestContext } from "node:test";
import { type AccessKey, freshKey } from "../../../base/domain/access.ts";
import { type FeedbackBatch, FeedbackPacker } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackAuthor, FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { outlinesOf } from "../../../base/domain/summaries/outline-group.ts";
import type { JobCounts, JobDraft, JobPins, JobStore } from "../../../base/domain/job.ts";
import {
  adapterOfServer,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
} from "../../../base/domain/model.ts";
import type { PageRequest } from "../../../base/domain/page.ts";
import type { ServerStore } from "../../../base/domain/servers/server-store.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryOutline } from "../../../base/domain/summaries/trajectory-outline.ts";
import type { TrajectoryGroup, TrajectoryLogDraft } from "../../../base/domain/trajectory.ts";
import type { Stores } from "../stores.ts";

/**
 * Creates an empty database for one test, and deletes it afterwards. Each call of the returned function opens another
 * connection to the database.
 */
export type MakeStorage = (context: TestContext) => Promise<() => Promise<Stores>>;

/** Opens two connections to the same empty database. */
export async function openTwice(
  makeStorage: MakeStorage,
  context: TestContext,
): Promise<readonly [Stores, Stores]> {
  const open = await makeStorage(context);
  return [await open(), await open()];
}

/** Returns the time that is `seconds` after the fixed noon of the sample data. */
export function moment(seconds: number): Date {
  return new Date(Date.UTC(2026, 10, 21, 12) + seconds * 1000);
}

export const firstPage: PageRequest = { after: null, limit: 100, order: "asc" };

export function sampleKey(id: string, changes: Partial<AccessKey> = {}): AccessKey {
  return {
    ...freshKey,
    id,
    entity: "team",
    role: "member",
    owner: "Ada",
    secretHash: `hash of ${id}`,
    createdAt: moment(0),
    ...changes,
  };
}

export function sampleModel(id: string, changes: Partial<TrainedModel> = {}): TrainedModel {
  return {
    id,
    entity: "team",
    project: "games",
    name: `name of ${id}`,
    baseModel: "tiny",
    adapter: adapterOfServer,
    createdAt: moment(0),
    ...changes,
  };
}

export function sampleVersion(
  modelId: string,
  step: number,
  changes: Partial<ModelVersion> = {},
): ModelVersion {
  return {
    id: `${modelId}:${step}`,
    modelId,
    step,
    adapterFolder: step === 0 ? null : `adapters/${modelId}/${step}`,
    trainerState: step === 0 ? null : `state of ${modelId}:${step}`,
    jobId: null,
    metrics: {},
    isPinned: false,
    base: step === 0 ? null : "weights",
    adapterHash: step === 0 ? null : `hash of ${modelId}:${step}`,
    copiedKind: null,
    createdAt: moment(step),
    ...changes,
  };
}

/** Stores a model with its version 0. */
export async function storeModel(models: ModelStore, id: string): Promise<void> {
  await models.create(sampleModel(id), sampleVersion(id, 0));
}

/** Gives a server a lease that expires at moment 70. */
export async function storeServer(
  servers: ServerStore,
  id = "server",
  baseModels: readonly string[] = ["tiny"],
): Promise<void> {
  await servers.create(id, { until: moment(70), baseModels, artifacts: "shared" });
}

/** Returns running jobs to the queue if their server has no lease. The jobs can be claimed again immediately. */
export function rescueNow(jobs: JobStore): Promise<readonly string[]> {
  return jobs.rescue({ at: moment(10), notBefore: () => new Date(0) });
}

export function sampleJob(id: string, modelId: string, changes: Partial<JobDraft> = {}): JobDraft {
  return {
    id,
    modelId,
    state: "queued",
    task: { kind: "rl", config: resolveTrainingConfig({ learningRate: 0.1 + 0.2 }) },
    configNotApplied: ["plot_tensors"],
    createdAt: moment(0),
    startedAt: null,
    endedAt: null,
    errorMessage: null,
    attemptCount: 0,
    lostCount: 0,
    restartCount: 0,
    waitingFor: null,
    warnings: [],
    progress: null,
    counts: null,
    resultStep: null,
    cancelRequested: false,
    pins: null,
    replayOf: null,
    retryOf: null,
    comparison: null,
    ...changes,
  };
}

export const samplePins: JobPins = {
  startStep: 0,
  resultStep: 1,
  settings: { threads: 2, nested: { list: [0.1 + 0.2, null] } },
  baseHash: "base",
  trainerBuild: "hone-0",
  seed: "seed",
  hasTrainerState: false,
};

export const sampleCounts: JobCounts = {
  groupsSubmitted: 2,
  groupsTrainable: 1,
  trajectories: 4,
  sequences: 4,
  trainableTokens: 99,
  skipped: { zero_variance: 1 },
  skippedGroups: { zero_variance: 1 },
};

/** Returns a trajectory group with content that JSON or text columns could corrupt. */
export function sampleGroup(reward: number): TrajectoryGroup {
  return {
    trajectories: [
      {
        messagesAndChoices: [
          { role: "user", content: "NUL \u0000, a lone half \ud83d, 👩🏽‍💻, and \u2028" },
          { finish_reason: "stop", message: { role: "assistant", content: null }, token_ids: [1, 2] },
        ],
        tools: null,
        additionalHistories: [{ messagesAndChoices: [], tools: [{ type: "function" }] }],
        reward,
        initialPolicyVersion: 0,
        finalPolicyVersion: null,
        metrics: { won: true, moves: 0.1 + 0.2 },
        metadata: { nested: { list: [null, 1e300] } },
        logs: ["line"],
        startTime: "2026-11-21T12:00:00Z",
        extra: { auto_metrics: {} },
      },
    ],
    exceptions: [{ type: "Error" }],
    metadata: {},
    metrics: {},
    logs: [],
    extra: {},
  };
}

export function sampleFeedback(id: string, changes: Partial<FeedbackRecord> = {}): FeedbackRecord {
  return {
    id,
    projectId: "team/games",
    vendorRef: "hone:///team/games/call/1",
    feedbackType: "score",
    payload: { value: 0.5, note: "NUL \u0000 and 👍" },
    creator: null,
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
    createdAt: moment(0.123),
    vendorUserId: "Ada",
    contentHash: `content of ${id}`,
    ...changes,
  };
}

/**
 * Packs feedback records into a batch. The batch leaves out author and time, which `append` gets separately.
 *
 * @param store store that will write the batch
 */
export function batchOf(
  { packForm }: Pick<FeedbackStore, "packForm">,
  records: readonly FeedbackRecord[],
): FeedbackBatch {
  const packer = new FeedbackPacker(packForm);
  for (const { id, contentHash, createdAt: _at, vendorUserId: _by, ...content } of records)
    packer.add({ id, content, contentHash }, JSON.stringify(content.payload));
  return packer.packed();
}

export function authorOf({ createdAt, vendorUserId }: FeedbackRecord): FeedbackAuthor {
  return { createdAt, vendorUserId };
}

export function sampleLog(
  id: string,
  changes: Partial<TrajectoryLogDraft> & { readonly groups?: readonly TrajectoryGroup[] } = {},
): TrajectoryLogDraft {
  const { groups = [sampleGroup(1), sampleGroup(-0.5)], ...rest } = changes;
  return {
    id,
    modelId: "m",
    split: "val",
    step: 0,
    recordedAt: moment(1),
    lines: groupLines(groups),
    outlines: groupOutlines(groups),
    groupCount: groups.length,
    scenarioIds: [],
    ...rest,
  };
}

/** Returns the summaries of all trajectories in the groups. */
export function groupOutlines(groups: readonly TrajectoryGroup[]): readonly TrajectoryOutline[] {
  let part = 0;
  return groups.flatMap((group, groupIndex) => {
    const outlines = outlinesOf(group, { part, groupIndex });
    part += groupLines([group]).length;
    return outlines;
  });
}

/** Returns trajectory groups in the form that stores accept: JSON lines, with long lines folded into several parts. */
export function groupLines(groups: readonly TrajectoryGroup[]): readonly string[] {
  return groups.flatMap((group) => [...foldedLine(JSON.stringify(group))]);
}
