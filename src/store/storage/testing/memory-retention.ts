// For tests: what does not stay in memory, found by looking at all of it at once.
import { storedForm } from "../../../base/domain/feedback-query/stored-form.ts";
import { isTerminal } from "../../../base/domain/job.ts";
import { dayOf } from "../../../base/domain/keys/usage.ts";
import { callIdOf, readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { StoredCompletion } from "../../../base/domain/recordings/completion-store.ts";
import {
  type KeepLimits,
  type KeptKind,
  keptKinds,
  type RemovedData,
  type RetentionStore,
} from "../../../base/domain/retention/retention-store.ts";
import { type Exclusively, jsonBytes, type KeptJob, type Tables } from "./memory-tables.ts";

interface Item {
  readonly entity: string;
  readonly modelId: string | null;
  readonly at: Date;
  readonly bytes: number;
  readonly isNeeded: boolean;
  readonly remove: (tables: Tables, at: Date) => void;
}

export function memoryRetention(exclusively: Exclusively): RetentionStore {
  return {
    claim: (owner, at, until) =>
      exclusively((tables) => {
        const { sweeper } = tables;
        const isOthers = sweeper !== null && sweeper.owner !== owner && tables.leases.has(sweeper.owner);
        if (isOthers && sweeper.until > at) return false;
        tables.sweeper = { owner, until };
        return true;
      }),
    release: (owner) =>
      exclusively((tables) => {
        if (tables.sweeper?.owner === owner) tables.sweeper = null;
      }),
    sweep: (kind, limits, { isDry, at }) =>
      exclusively((tables) => {
        const going = goingOf(itemsOf[kind](tables), limits);
        const removed = byEntity(going);
        if (!isDry) {
          for (const item of going) item.remove(tables, at);
          noteRemoved(tables, kind, removed, at);
        }
        return { removed, next: null };
      }),
    clear: async () => false,
    removed: (entity, limit) =>
      exclusively(({ removed }) =>
        removed
          .filter((one) => one.entity === (entity ?? one.entity))
          .toSorted((one, other) => order(other.day, one.day) || order(keyOf(one), keyOf(other)))
          .slice(0, limit),
      ),
    stored: (entity) =>
      exclusively((tables) => {
        const bytes = keptKinds.map((kind) => {
          const items = itemsOf[kind](tables, { isUnended: true });
          const own = items.filter((item) => item.entity === (entity ?? item.entity));
          return [kind, own.reduce((sum, item) => sum + item.bytes, 0)] as const;
        });
        const isOf = (owner: string): boolean => owner === (entity ?? owner);
        const sum = (sizes: readonly number[]): number => sizes.reduce((total, one) => total + one, 0);
        return {
          // There is one for each kind.
          ...(Object.fromEntries(bytes) as Record<KeptKind, number>),
          feedback: sum(
            tables.feedback
              .filter(({ projectId }) => isOf(projectId.split("/", 1)[0] ?? ""))
              .map((record) => Buffer.byteLength(storedForm(record).payload)),
          ),
          files: sum(tables.files.filter((file) => isOf(file.entity)).map(({ byteCount }) => byteCount)),
          traces: sum(
            tables.tracedFiles.filter((file) => isOf(file.entity)).map(({ byteCount }) => byteCount),
          ),
        };
      }),
  };
}

/** The oldest first. */
const itemsOf: Readonly<
  Record<KeptKind, (tables: Tables, also?: { readonly isUnended: boolean }) => readonly Item[]>
> = {
  trajectories: (tables) =>
    tables.logs
      .map(({ log }): Item => {
        const newest = tables.logs.filter((one) => one.log.modelId === log.modelId).at(-1);
        return {
          entity: entityOf(tables, log.modelId),
          modelId: log.modelId,
          at: log.recordedAt,
          bytes: log.contentBytes,
          isNeeded: newest?.log === log,
          remove: (changed) => {
            changed.logs = changed.logs.filter((one) => one.log.id !== log.id);
            dropOutlines(changed, log.id);
          },
        };
      })
      .toSorted(byTime),
  jobs: (tables, { isUnended } = { isUnended: false }) =>
    tables.jobs
      .filter(({ job }) => job.dataRemovedAt === null && (isUnended || isTerminal(job.state)))
      .map((kept): Item => ({
        entity: entityOf(tables, kept.job.modelId),
        modelId: kept.job.modelId,
        at: kept.job.endedAt ?? new Date(0),
        bytes: dataBytes(kept),
        isNeeded: isJobNeeded(tables, kept),
        remove: (changed, at) => {
          changed.jobs = changed.jobs.map((one) =>
            one.job.id === kept.job.id
              ? {
                  ...one,
                  job: { ...one.job, dataRemovedAt: at },
                  lines: [],
                  events: new Map([...one.events].filter(([sequence]) => sequence === Infinity)),
                }
              : one,
          );
          dropOutlines(changed, kept.job.id);
        },
      }))
      .toSorted(byTime),
  recordings: (tables) =>
    tables.completions.map((completion) => ({
      entity: entityOf(tables, completion.modelId),
      modelId: completion.modelId,
      at: completion.endedAt,
      bytes: completion.byteCount,
      isNeeded: isToAnnotate(tables, completion) || isToTrain(tables, completion),
      remove: (changed) => {
        changed.completions = changed.completions.filter((one) => one !== completion);
      },
    })),
  revisions: (tables) =>
    tables.revisions
      .map((revision): Item => ({
        entity: revision.record.projectId.split("/", 1)[0] ?? "",
        modelId: null,
        at: revision.replacedAt,
        bytes: jsonBytes(revision.record),
        isNeeded: false,
        remove: (changed) => {
          changed.revisions = changed.revisions.filter((one) => one !== revision);
        },
      }))
      .toSorted(byTime),
};

function goingOf(items: readonly Item[], { before, entityBytes, modelCount }: KeepLimits): readonly Item[] {
  const going = new Set<Item>();
  for (const item of items) if (before !== null && item.at < before && !item.isNeeded) going.add(item);
  const left = () => items.filter((item) => !going.has(item));
  for (const item of left()) {
    const ofEntity = left().filter(({ entity }) => entity === item.entity);
    const bytes = ofEntity.reduce((sum, one) => sum + one.bytes, 0);
    if (entityBytes !== null && bytes > entityBytes && !item.isNeeded) going.add(item);
  }
  for (const item of left()) {
    const ofModel = left().filter(({ modelId }) => modelId === item.modelId);
    if (modelCount !== null && ofModel.length > modelCount && !item.isNeeded) going.add(item);
  }
  return [...going];
}

function isJobNeeded({ jobs, versions }: Tables, { job }: KeptJob): boolean {
  const ofModel = jobs.filter((one) => one.job.modelId === job.modelId).map((one) => one.job);
  const isAwaited = ofModel.some(
    (one) => !isTerminal(one.state) && (one.retryOf === job.id || one.replayOf !== null),
  );
  const makers = ofModel.filter((one) => one.id === job.id || one.retryOf === job.id).map(({ id }) => id);
  return (
    isAwaited ||
    versions.some(({ jobId, isPinned, isDeleted }) => isPinned && !isDeleted && makers.includes(jobId ?? ""))
  );
}

function isToAnnotate({ queues, items }: Tables, { projectId, requestId }: StoredCompletion): boolean {
  return items.some((item) => {
    const queue = queues.find(({ id }) => id === item.queueId);
    if (
      queue === undefined ||
      queue.deletedAt !== null ||
      queue.projectId !== projectId ||
      item.callId !== callIdOf(requestId)
    )
      return false;
    const done = item.annotations.filter(({ state }) => state === "completed").length;
    return done < queue.annotatorsPerItem;
  });
}

function isToTrain({ feedback, rules }: Tables, { projectId, requestId }: StoredCompletion): boolean {
  const about = feedback.filter((record) => {
    const called = readCallReference(record.vendorRef);
    return (
      record.projectId === projectId && called?.projectId === projectId && called.requestId === requestId
    );
  });
  return rules
    .filter(({ rule }) => rule.standing !== null && `${rule.entity}/${rule.project}` === projectId)
    .some(({ notes, prompts }) =>
      notes.some(
        ({ feedbackId, promptHash }) =>
          about.some(({ id }) => id === feedbackId) && (prompts.get(promptHash)?.readySince ?? null) !== null,
      ),
    );
}

function dataBytes({ job, lines, events }: KeptJob): number {
  const ofLines = job.retryOf === null ? lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) : 0;
  if (!isTerminal(job.state)) return ofLines;
  return [...events.values()].reduce((sum, { data }) => sum + jsonBytes(data), ofLines);
}

function dropOutlines(tables: Tables, sourceId: string): void {
  tables.outlines = tables.outlines.filter((one) => one.sourceId !== sourceId);
}

function entityOf({ models }: Tables, modelId: string): string {
  return models.find(({ id }) => id === modelId)?.entity ?? "";
}

function byEntity(items: readonly Item[]): readonly RemovedData[] {
  return [...new Set(items.map(({ entity }) => entity))].map((entity) => {
    const own = items.filter((item) => item.entity === entity);
    return { entity, itemCount: own.length, byteCount: own.reduce((sum, { bytes }) => sum + bytes, 0) };
  });
}

function noteRemoved(tables: Tables, kind: KeptKind, removed: readonly RemovedData[], at: Date): void {
  for (const { entity, itemCount, byteCount } of removed) {
    const isSame = (one: Tables["removed"][number]): boolean =>
      one.day === dayOf(at) && one.kind === kind && one.entity === entity;
    const known = tables.removed.find(isSame) ?? { itemCount: 0, byteCount: 0 };
    tables.removed = [
      ...tables.removed.filter((one) => !isSame(one)),
      {
        day: dayOf(at),
        kind,
        entity,
        itemCount: known.itemCount + itemCount,
        byteCount: known.byteCount + byteCount,
        lastAt: at,
      },
    ];
  }
}

function byTime(one: Item, other: Item): number {
  return one.at.getTime() - other.at.getTime();
}

function keyOf({ kind, entity }: { readonly kind: string; readonly entity: string }): string {
  return `${kind} ${entity}`;
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
