// For tests: what the stores in memory keep, and how a page is cut out of a list of it.
import type { AccessKey } from "../../../base/domain/access.ts";
import type { AnnotationItem, AnnotationQueue } from "../../../base/domain/annotation/queue.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { FeedbackRecord, FeedbackRevision } from "../../../base/domain/feedback.ts";
import type { IdempotencyKey, JobEvent, TrainingJob } from "../../../base/domain/job.ts";
import type { KeyLimits, RunningCount, SlotCounts } from "../../../base/domain/keys/limits.ts";
import type { UsageRow } from "../../../base/domain/keys/usage.ts";
import type { ModelVersion, TrainedModel, VersionKey } from "../../../base/domain/model.ts";
import type { StoredCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type { RemovedOfDay } from "../../../base/domain/retention/retention-store.ts";
import type { RuleNote, StandingJob, StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import type { TrainingSource } from "../../../base/domain/rewards/training-source.ts";
import type { ServerLease } from "../../../base/domain/servers/server-store.ts";
import { fittingCount, type Page, type PageRequest, pageBytesMax } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ListedOutline } from "../../../base/domain/outlines/trajectory-outline.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { TrajectoryLog } from "../../../base/domain/trajectory.ts";
import type { ObjectDraft, PublishedObject } from "../../../base/domain/traces/published-object.ts";
import type { CallPart } from "../../../base/domain/traces/traced-call.ts";
import type { TracedFile } from "../../../base/domain/traces/traced-file.ts";
import type { TableRow } from "../../../base/domain/traces/traced-table.ts";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import type { Delivery, Webhook } from "../../../base/domain/webhooks/webhook.ts";
import { unknownCursor } from "../paging.ts";

/** A job with what the domain does not show of it. */
export interface KeptJob {
  readonly job: TrainingJob;
  readonly owner: string | null;
  readonly notBefore: Date;
  readonly waitsSince: Date;
  readonly hasAdvanced: boolean;
  readonly lines: readonly string[];
  /** By sequence. */
  readonly events: ReadonlyMap<number, Omit<JobEvent, "id">>;
  readonly idempotency: IdempotencyKey | null;
  readonly keyId: string | null;
}

/** A rule with what its standing order knows. */
export interface KeptRule {
  readonly rule: StoredRule;
  readonly owner: string | null;
  readonly cursor: number | null;
  readonly fault: string | null;
  readonly notes: readonly RuleNote[];
  readonly prompts: ReadonlyMap<string, KeptPrompt>;
  /** The oldest first. */
  readonly jobs: readonly StandingJob[];
}

export interface KeptPrompt {
  /** How far the rule had read then; null for one that cannot train. */
  readonly readySince: number | null;
  /** The job that took it last. */
  readonly jobId: string | null;
}
/** A version without what depends on the others. */
export type PublishedDraft = ObjectDraft & Pick<PublishedObject, "version">;

/** A delivery with whose it is while it is sent, and its number among those of its webhook. */
export interface KeptDelivery {
  readonly delivery: Delivery;
  readonly sequence: number;
  readonly owner: string | null;
}

/** What is kept; lists are in the order in which things came. */
export interface Tables {
  keys: readonly AccessKey[];
  /** In any order. */
  usage: readonly UsageRow[];
  /** By entity. */
  entityLimits: ReadonlyMap<string, KeyLimits>;
  limitSlots: readonly SlotCounts[];
  limitRunning: readonly (RunningCount & { readonly server: string })[];
  models: readonly TrainedModel[];
  versions: readonly (ModelVersion & {
    readonly isDeleted: boolean;
    /** What it came with. */
    readonly ownMetrics: ModelVersion["metrics"];
  })[];
  jobs: readonly KeptJob[];
  /** The models whose jobs were claimed, in that order. */
  turns: readonly string[];
  logs: readonly {
    readonly log: TrajectoryLog;
    readonly lines: readonly string[];
    readonly scenarioIds: readonly string[];
    readonly tally: JsonObject | null;
  }[];
  /** In the order they came. */
  outlines: readonly (ListedOutline & { readonly modelId: string })[];
  /** How many each model ever had. */
  outlineCounts: ReadonlyMap<string, number>;
  /** In the order they came. */
  completions: readonly StoredCompletion[];
  /** How many were ever stored. */
  completionCount: number;
  feedback: readonly FeedbackRecord[];
  /** Projects and ids, in the order in which they were stored and replaced. */
  feedbackOrder: readonly string[];
  revisions: readonly FeedbackRevision[];
  files: readonly UploadedFile[];
  queues: readonly AnnotationQueue[];
  /** With holds that have run out. */
  items: readonly AnnotationItem[];
  webhooks: readonly Webhook[];
  /** In the order they came. */
  deliveries: readonly KeptDelivery[];
  /** By which events are dated. */
  readonly clock: Clock;
  objects: readonly PublishedDraft[];
  tracedTables: readonly {
    readonly projectId: string;
    readonly digest: string;
    readonly rows: readonly TableRow[];
  }[];
  tracedFiles: readonly TracedFile[];
  /** By project and id. */
  tracedCalls: ReadonlyMap<string, CallPart>;
  /** Versions that each name has had. */
  publishedCounts: ReadonlyMap<string, number>;
  /** By the server's id. */
  leases: ReadonlyMap<string, ServerLease>;
  /** The versions that each server has requests on, by the server's id; those without a lease count for nothing. */
  uses: readonly (VersionKey & { readonly server: string })[];
  rules: readonly KeptRule[];
  /** In any order. */
  removed: readonly RemovedOfDay[];
  /** Who sweeps, and until when. */
  sweeper: { readonly owner: string; readonly until: Date } | null;
  /** In the order of each job's groups. */
  sources: readonly (TrainingSource & { readonly jobId: string })[];
}

/** Runs a piece of work on the tables when the ones before it have ended; what throws changes nothing. */
export type Exclusively = <Result>(work: (tables: Tables) => Result) => Promise<Result>;

/**
 * Cuts a page out of a list.
 *
 * @param places every place a cursor may name, in order; `items` are those of them that are shown
 */
export function pageOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  page: PageRequest,
  { bytesOf = () => 0, places = items }: ListShape<Item> = {},
): Page<Item> {
  const inOrder = <T>(list: readonly T[]): readonly T[] => (page.order === "asc" ? list : list.toReversed());
  const placesInOrder = inOrder(places.map(({ id }) => id));
  const start = page.after === null ? 0 : placesInOrder.indexOf(page.after) + 1;
  if (page.after !== null && start === 0) throw unknownCursor(page.after);
  const later = new Set(placesInOrder.slice(start));
  const following = inOrder(items).filter(({ id }) => later.has(id));
  const count = fittingCount(following.slice(0, page.limit).map(bytesOf), page.bytesMax ?? pageBytesMax);
  return { items: following.slice(0, count), hasMore: following.length > count };
}

interface ListShape<Item> {
  readonly bytesOf?: (item: Item) => number;
  readonly places?: readonly { readonly id: string }[];
}

/** The bytes of a value as it would be stored. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The lines that were stored, read one after another while `isThere` holds. */
export async function* linesWhile(
  lines: readonly string[],
  isThere: () => Promise<boolean>,
  gone: () => ServiceError,
): AsyncGenerator<string, void> {
  for (const line of lines) {
    if (!(await isThere())) throw gone();
    yield line;
  }
  if (!(await isThere())) throw gone();
}

export function conflict(message: string): ServiceError {
  return new ServiceError({ code: "conflict", message });
}
