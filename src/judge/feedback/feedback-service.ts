// Service for feedback records: checks access, validates records, and adds ids, times and authors. The feedback store
// reads and writes the records.
import { type Caller, foreignMessage, mayReach } from "../../base/domain/access.ts";
import { present } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { FeedbackContent, FeedbackRecord, FeedbackRevision } from "../../base/domain/feedback.ts";
import {
  type CheckedFeedback,
  type FeedbackBatch,
  type PackForm,
  recordsIn,
} from "../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackAuthor, FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackQuery, FeedbackResult } from "../../base/domain/feedback-query/feedback-query.ts";
import type { QueryLimits } from "../../base/domain/feedback-query/query-limits.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import type { StorageRoom } from "../../base/domain/retention/storage-room.ts";
import { type ErrorCode, type Fault, notFound, ServiceError } from "../../base/domain/service-error.ts";
import { checkQueues, type QueueSource } from "./check-queues.ts";
import { AnnotationSpecs, type SpecSource } from "./specs/annotation-specs.ts";
import { quoted, type ContentFault } from "./content-fault.ts";
import { checkContent, checkedFeedback, type FeedbackInput } from "./check-content.ts";
import { inTurns } from "./in-turns.ts";
import { feedbackStatistics, type FeedbackStatistics } from "./reading/feedback-statistics.ts";
import { recordPages, type RecordSelection } from "./reading/record-pages.ts";
import { feedbackSettings, type FeedbackSettings, queryLimits } from "./settings.ts";

export interface FeedbackService {
  /** Format in which a batch is packed for the store; see {@link FeedbackStore.packForm}. */
  readonly packForm: PackForm;
  /**
   * Stores all records of a batch or none. A retry gets the response of the first request. The caller must limit the
   * number of records.
   *
   * @throws ServiceError `forbidden` for another entity's project; `conflict` if ids exist with other content, with the
   * location of each such record: `batch`, the record's index, and the field
   */
  createBatch(batch: FeedbackBatch, caller: Caller): Promise<CreatedBatch>;
  /**
   * Stores one record, like a batch with a single record. The location of a fault is only the field, without `batch`
   * and an index.
   *
   * @throws ServiceError like `createBatch`; also `invalid`, with every fault
   */
  create(item: FeedbackInput, caller: Caller): Promise<FeedbackRecord>;
  /**
   * Replaces a record's content. Its id and creation time stay the same.
   *
   * @throws ServiceError `invalid`, `forbidden`, or `not_found` if the input's project has no such record
   */
  replace(feedbackId: string, input: FeedbackInput, caller: Caller): Promise<FeedbackRecord>;
  /** Limits on the size of one query. */
  readonly queryLimits: QueryLimits;
  /**
   * Returns the records that match a query; see {@link FeedbackStore.query}.
   *
   * @throws ServiceError like {@link FeedbackStore.query}; also `invalid`, `forbidden`
   */
  query(query: FeedbackQuery, caller: Caller): Promise<FeedbackResult>;
  /**
   * Yields all records that match a selection, page by page, in storage order. Some pages may be empty.
   *
   * @throws ServiceError with the codes of `query`
   */
  pages(
    selection: RecordSelection,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<readonly FeedbackRecord[], void>;
  /**
   * Computes statistics over the records that match a selection.
   *
   * @throws ServiceError with the codes of `query`
   */
  statistics(
    selection: Pick<FeedbackQuery, "projectId" | "condition">,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): Promise<FeedbackStatistics>;
  /**
   * Removes records permanently; ignores unknown ids.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  delete(projectId: string, ids: readonly string[], caller: Caller): Promise<void>;
  /**
   * Returns the contents that a record had before it was replaced, oldest first.
   *
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  history(projectId: string, id: string, page: PageRequest, caller: Caller): Promise<Page<FeedbackRevision>>;
}

/**
 * Result of storing a batch. If all records are new, contains only their creation time; otherwise contains each record
 * as stored, in order.
 */
export type CreatedBatch =
  | { readonly kind: "new"; readonly createdAt: Date }
  | { readonly kind: "stored"; readonly records: readonly FeedbackRecord[] };

export interface FeedbackDependencies {
  readonly store: FeedbackStore;
  /** Store of the annotation queues to which `queue_id` refers. */
  readonly queues: QueueSource;
  /** Store of the annotation specs to which annotations must conform. */
  readonly specs: SpecSource;
  readonly clock: Clock;
  /** Checks the storage quota of an entity. If absent, storage is unlimited. */
  readonly room?: StorageRoom;
}

export function createFeedbackService(
  dependencies: FeedbackDependencies,
  settings: FeedbackSettings = feedbackSettings.with(),
): FeedbackService {
  const limits = queryLimits(settings);
  return {
    queryLimits: limits,
    packForm: dependencies.store.packForm,
    createBatch: (batch, caller) => createBatch(dependencies, batch, caller),
    create: async (item, caller) => {
      const checked = check(item, caller);
      await checkQueues([{ ...item, location: singleLocation }], dependencies.queues);
      await holdToSpecs({ ...dependencies, tenant: caller.entity }, [checked], () => singleLocation);
      await requireRoom(dependencies, [item.projectId]);
      const id = item.id ?? newUuid7(dependencies.clock);
      const record = recordOf({ ...checked, id }, newAuthor(dependencies, caller));
      try {
        return (await dependencies.store.create([record]))[0];
      } catch (error) {
        throw relocated(error, "conflict", ([_index, ...field]) => field);
      }
    },
    replace: (feedbackId, input, caller) => replace(dependencies, feedbackId, input, caller),
    query: async (query, caller) => {
      const entity = requireProject(query.projectId, caller);
      return await dependencies.store.query(query, { entity, timeMs: limits.timeMs });
    },
    pages: (selection, caller, options) => {
      const entity = requireProject(selection.projectId, caller);
      return recordPages(dependencies.store, selection, { entity, timeMs: limits.timeMs }, options);
    },
    statistics: async (selection, caller, options) => {
      const entity = requireProject(selection.projectId, caller);
      return await feedbackStatistics(dependencies, selection, { entity, timeMs: limits.timeMs }, options);
    },
    delete: async (projectId, ids, caller) => {
      requireProject(projectId, caller);
      await dependencies.store.delete(projectId, ids);
    },
    history: async (projectId, id, page, caller) => {
      requireProject(projectId, caller);
      const { store } = dependencies;
      if ((await store.find(projectId, id)) === null) throw notFound("feedback record", id);
      return await store.history(projectId, id, page);
    },
  };
}

/**
 * Returns the entity of a project that the caller may access.
 *
 * @throws ServiceError `invalid` for an invalid project id, `forbidden` for a project of another entity
 */
function requireProject(projectId: string, caller: Caller): string {
  const project = parseProjectId(projectId);
  if (project === null) {
    const message = `project_id is ${quoted(projectId)}; it must be <entity>/<project>`;
    throw invalid([{ location: ["project_id"], message, type: "value_error" }]);
  }
  refuseForeign([{ projectId, location: singleLocation }], caller);
  return project.entity;
}

async function createBatch(
  dependencies: FeedbackDependencies,
  batch: FeedbackBatch,
  caller: Caller,
): Promise<CreatedBatch> {
  const { store, queues, clock } = dependencies;
  const locationAt = (index: number): readonly string[] => ["batch", String(index)];
  const placed = <Item extends { readonly index: number }>(item: Item) => ({
    ...item,
    location: locationAt(item.index),
  });
  refuseForeign(batch.projects.map(placed), caller);
  await checkQueues(batch.queued.map(placed), queues);
  if (batch.hasAnnotations)
    await holdToSpecs({ ...dependencies, tenant: caller.entity }, [...recordsIn(batch)], locationAt);
  await requireRoom(
    dependencies,
    batch.projects.map(({ projectId }) => projectId),
  );
  const author = newAuthor(dependencies, caller);
  if (batch.count === 0 || (await store.createBatch(batch, author))) return { kind: "new", ...author };
  const records = await inTurns(recordsIn(batch), (one) => recordOf(one, author), {
    clock,
    tenant: caller.entity,
  });
  try {
    return { kind: "stored", records: await store.create(records) };
  } catch (error) {
    throw relocated(error, "conflict", (field) => ["batch", ...field]);
  }
}

async function replace(
  dependencies: FeedbackDependencies,
  feedbackId: string,
  input: FeedbackInput,
  caller: Caller,
): Promise<FeedbackRecord> {
  const { store, queues, clock } = dependencies;
  const otherId: readonly Fault[] =
    input.id === null || input.id === feedbackId
      ? []
      : [
          {
            location: ["id"],
            message: `id is ${quoted(input.id)} and feedback_id is ${quoted(feedbackId)}; a replacement keeps the id, so leave it out`,
            type: "value_error",
          },
        ];
  const checked = check(input, caller, otherId);
  await checkQueues([{ ...input, location: singleLocation }], queues);
  await holdToSpecs({ ...dependencies, tenant: caller.entity }, [checked], () => singleLocation);
  await requireRoom(dependencies, [input.projectId]);
  const { content, contentHash } = checked;
  const replacement = { ...content, vendorUserId: caller.owner, contentHash };
  const record = await store.replace(input.projectId, feedbackId, replacement, clock.now());
  if (record === null) throw notFound("feedback record", feedbackId);
  return record;
}

/**
 * Checks that the project's entity may store more data.
 *
 * @throws ServiceError `full` if the entity has reached its quota
 */
async function requireRoom(
  { room }: Pick<FeedbackDependencies, "room">,
  projectIds: readonly string[],
): Promise<void> {
  if (room === undefined) return;
  const entities = projectIds.map((id) => present(parseProjectId(id), "a checked project id").entity);
  for (const entity of new Set(entities)) await room.require(entity);
}

/**
 * Refuses annotations that do not conform to their specs. Does not check annotations whose spec this server does not
 * store.
 */
async function holdToSpecs(
  { specs, clock, tenant }: FeedbackDependencies & { readonly tenant: string },
  checked: readonly Pick<CheckedFeedback, "content">[],
  locationOf: (index: number) => readonly string[],
): Promise<void> {
  const contents = checked.map(({ content }) => content);
  const named = await AnnotationSpecs.of(contents, specs);
  if (named.areNone) return;
  const work = (content: FeedbackContent, index: number): readonly Fault[] =>
    located(named.faultsOf(content), locationOf(index));
  const faults = (await inTurns(contents, work, { clock, tenant })).flat();
  if (faults.length > 0) throw invalid(faults);
}

/**
 * Location prefix for a single record's faults. It is empty, because only the locations in a batch contain the index of
 * the record.
 */
const singleLocation: readonly string[] = [];

/**
 * Validates a record and checks the caller's access to its project.
 *
 * @throws ServiceError `invalid` with all faults together, then `forbidden` if the caller may not access the project
 */
function check(
  input: FeedbackInput,
  caller: Caller,
  moreFaults: readonly Fault[] = [],
): Omit<CheckedFeedback, "id"> {
  const found = checkContent(input);
  const faults = [...located(found.faults, []), ...moreFaults];
  if (faults.length > 0) throw invalid(faults);
  refuseForeign([{ projectId: input.projectId, location: singleLocation }], caller);
  return checkedFeedback(found);
}

/** Prefixes the path of each fault with the location of the record in the request. */
function located(faults: readonly ContentFault[], location: readonly string[]): readonly Fault[] {
  return faults.map(({ path, ...fault }) => ({ location: [...location, ...path], ...fault }));
}

function invalid(faults: readonly Fault[]): ServiceError {
  const [first] = faults;
  const where = first.location.join(".");
  const others = faults.length === 1 ? "" : ` (and ${faults.length - 1} more)`;
  return new ServiceError({ code: "invalid", message: `${where}: ${first.message}${others}.`, faults });
}

function refuseForeign(
  projects: readonly { readonly projectId: string; readonly location: readonly string[] }[],
  caller: Caller,
): void {
  for (const { projectId, location } of projects) {
    const owned = present(parseProjectId(projectId), "a checked project id");
    if (mayReach(caller, owned)) continue;
    const message = foreignMessage(caller, owned, `The project ${quoted(projectId)}`);
    throw new ServiceError({
      code: "forbidden",
      faults: [{ location: [...location, "project_id"], message, type: "forbidden" }],
    });
  }
}

function newAuthor({ clock }: FeedbackDependencies, { owner }: Caller): FeedbackAuthor {
  return { createdAt: clock.now(), vendorUserId: owner };
}

function recordOf(
  { id, content, contentHash }: CheckedFeedback,
  { createdAt, vendorUserId }: FeedbackAuthor,
): FeedbackRecord {
  return { ...content, id, contentHash, createdAt, vendorUserId };
}

/**
 * Converts the locations of the store's faults to locations in the caller's request. Returns errors with another code
 * unchanged.
 */
function relocated(
  error: unknown,
  code: ErrorCode,
  locationOf: (field: readonly string[]) => readonly string[],
): unknown {
  if (!(error instanceof ServiceError) || error.code !== code) return error;
  const faults = error.faults.map((fault) => ({ ...fault, location: locationOf(fault.location) }));
  return new ServiceError({ code, message: error.message, faults, cause: error });
}
