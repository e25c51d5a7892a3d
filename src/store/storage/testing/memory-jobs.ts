// For tests: the job store in memory.
import { createHash } from "node:crypto";
import { present } from "../../../base/domain/assert.ts";
import { unfolded } from "../../../base/domain/text/folded-lines.ts";
import {
  dataRemoved,
  type IdempotencyKey,
  type JobCounts,
  type JobEvent,
  type JobState,
  type JobStore,
  jobTransitions,
  trainedTokens,
  type TrainingJob,
} from "../../../base/domain/job.ts";
import { dayOf, noUsage } from "../../../base/domain/keys/usage.ts";
import { missingBaseError } from "../../../base/domain/obstacles/missing-base.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import { roomInShare } from "../../../base/domain/sharing/tenant-shares.ts";
import {
  conflict,
  type Exclusively,
  jsonBytes,
  type KeptJob,
  linesWhile,
  pageOf,
  type Tables,
} from "./memory-tables.ts";
import { addVersion, greatestStep } from "./memory-models.ts";
import { addOutlines } from "./memory-outlines.ts";
import { addOrigin, retakeOrigin } from "./memory-sources.ts";
import { addUsage } from "./memory-usage.ts";
import { tellJob } from "./memory-webhooks.ts";

const terminalSequence = Infinity;
const noWait = { notBefore: new Date(0), waitsSince: new Date(0) };

export function memoryJobs(exclusively: Exclusively): JobStore {
  const find = (id: string) =>
    exclusively((tables) => {
      const one = kept(tables, id);
      return one === undefined ? null : shown(tables, one);
    });
  return {
    create: (
      job,
      given,
      idempotency,
      { queuedMax = Infinity, queuedPerEntityMax = Infinity, outlines = [], feedback, keyId } = {},
    ) =>
      exclusively((tables) => {
        const earlierId = idempotency === null ? null : idOfCreated(tables, idempotency);
        if (earlierId !== null) return { id: earlierId, isNew: false };
        const entityOf = (modelId: string) => tables.models.find(({ id }) => id === modelId)?.entity;
        const queued = tables.jobs.filter((one) => one.job.state === "queued");
        const ofEntity = queued.filter((one) => entityOf(one.job.modelId) === entityOf(job.modelId));
        const earlier = kept(tables, job.retryOf ?? job.replayOf ?? "");
        const askedBy = keyId ?? earlier?.keyId ?? null;
        const ofKey = queued.filter((one) => one.keyId === askedBy);
        const keyMax = tables.keys.find(({ id }) => id === askedBy)?.queuedJobs ?? Infinity;
        const entityMax =
          tables.entityLimits.get(entityOf(job.modelId) ?? "")?.queuedJobs ?? queuedPerEntityMax;
        const room =
          queuedMax === Infinity
            ? Infinity
            : roomInShare({ max: queuedMax, used: queued.length, own: ofEntity.length });
        if (room < 1 || ofEntity.length >= entityMax || ofKey.length >= keyMax)
          throw new ServiceError({
            code: "overloaded",
            message: "The queue is full.",
            retryAfterSeconds: 60,
          });
        if (!tables.models.some(({ id }) => id === job.modelId)) throw notFound("model", job.modelId);
        const tried = job.retryOf === null ? null : requireKept(tables, job.retryOf);
        const lines = tried?.lines ?? [...given];
        const content = [JSON.stringify(job.task.config), ...lines].map(unfolded).join("");
        const contentHash = tried?.job.contentHash ?? createHash("sha256").update(content).digest("hex");
        const waiting = { owner: null, hasAdvanced: false, ...noWait };
        const removedAt = earlier?.job.dataRemovedAt ?? null;
        if (earlier !== undefined && removedAt !== null) throw dataRemoved(earlier.job.id, removedAt);
        const asked = { idempotency, keyId: askedBy };
        const stored = {
          job: { ...job, contentHash, dataRemovedAt: null },
          ...waiting,
          lines,
          events: new Map(),
          ...asked,
        };
        tables.jobs = [...tables.jobs, stored];
        const { id: sourceId, modelId, createdAt: recordedAt } = job;
        const place = { modelId, source: "job", sourceId, split: "train", step: null, recordedAt } as const;
        addOutlines(tables, place, outlines);
        if (feedback !== undefined) addOrigin(tables, job, feedback);
        if (job.retryOf !== null) retakeOrigin(tables, job, job.retryOf);
        return { id: job.id, isNew: true };
      }),
    findCreated: (idempotency) => exclusively((tables) => idOfCreated(tables, idempotency)),
    find,
    trajectoryLines: async (id, from = 0) => {
      const lines = await exclusively((tables) => {
        const one = kept(tables, id);
        const source = kept(tables, one?.job.retryOf ?? id);
        const removedAt = source?.job.dataRemovedAt ?? null;
        if (source !== undefined && removedAt !== null) throw dataRemoved(source.job.id, removedAt);
        return one?.lines ?? null;
      });
      if (lines === null) return null;
      const isThere = async () => (await find(id)) !== null;
      return linesWhile(lines.slice(from), isThere, () => notFound("training job", id));
    },
    list: ({ entity, project = null, modelId, kind, state }, page) =>
      exclusively((tables) => {
        const modelOfJob = (job: TrainingJob) => tables.models.find(({ id }) => id === job.modelId);
        const places = tables.jobs
          .map((one) => shown(tables, one))
          .filter(
            (job) =>
              job.modelId === (modelId ?? job.modelId) &&
              job.task.kind === (kind ?? job.task.kind) &&
              (entity === null || modelOfJob(job)?.entity === entity) &&
              (project === null || modelOfJob(job)?.project === project),
          );
        const listed = places.filter((job) => job.state === (state ?? job.state));
        return pageOf(listed, page, { places, bytesOf: jsonBytes });
      }),
    listEvents: (id, page) =>
      exclusively((tables) => {
        const events = [...(kept(tables, id)?.events ?? [])]
          .toSorted(([one], [other]) => one - other)
          .map(([sequence, event]) => ({ id: `${id}:${sequence}`, ...event }));
        return pageOf(events, page, { bytesOf: ({ data }) => jsonBytes(data) });
      }),
    ...attempts(exclusively),
    ...endings(exclusively),
  };
}

function attempts(
  exclusively: Exclusively,
): Omit<
  JobStore,
  "create" | "findCreated" | "find" | "trajectoryLines" | "list" | "listEvents" | keyof Endings
> {
  return {
    claim: (owner, at) =>
      exclusively((tables) => {
        const lease = tables.leases.get(owner);
        const unfinished = tables.jobs.filter(({ job }) => job.state === "queued" || job.state === "running");
        const claimable = unfinished.filter(
          (one) =>
            // The first unfinished job of its model, and none of them runs.
            unfinished.find(({ job }) => job.modelId === one.job.modelId) === one &&
            !unfinished.some(({ job }) => job.modelId === one.job.modelId && job.state === "running") &&
            (one.notBefore <= at || one.waitsSince > at) &&
            lease?.baseModels.includes(modelOf(tables, one).baseModel),
        );
        const turnOfEntity = (one: KeptJob): number =>
          tables.turns.findLastIndex(
            (id) => tables.models.find((model) => model.id === id)?.entity === modelOf(tables, one).entity,
          );
        const turnOfModel = (one: KeptJob): number => tables.turns.lastIndexOf(one.job.modelId);
        const [next] = claimable.toSorted(
          (one, other) => turnOfEntity(one) - turnOfEntity(other) || turnOfModel(one) - turnOfModel(other),
        );
        if (next === undefined) return null;
        tables.turns = [...tables.turns, next.job.modelId];
        const { startedAt, attemptCount } = next.job;
        const attempt = { startedAt: startedAt ?? at, attemptCount: attemptCount + 1 };
        const held = { owner, hasAdvanced: false };
        return change(tables, next.job.id, { state: "running", ...attempt }, held);
      }),
    findRunning: (id, owner) =>
      exclusively((tables) => {
        const one = kept(tables, id);
        return one !== undefined && runsFor(one, owner) ? one.job : null;
      }),
    countWaiting: () =>
      exclusively((tables) => {
        const queued = tables.jobs.filter(({ job }) => job.state === "queued");
        const reasons = queued.flatMap((one) => shown(tables, one).waitingFor ?? []);
        return [...new Set(reasons)]
          .toSorted()
          .map((waitingFor) => ({ waitingFor, count: reasons.filter((one) => one === waitingFor).length }))
          .toSorted((one, other) => other.count - one.count);
      }),
    pin: (id, owner, pins) =>
      exclusively((tables) => {
        const { job } = requireRunning(tables, id, owner);
        const resultStep = Math.max(pins.resultStep, greatestStep(tables, job.modelId) + 1);
        const inForce = job.pins ?? { ...pins, resultStep };
        change(tables, id, { pins: inForce });
        return inForce;
      }),
    rescue: ({ at, notBefore, runs }) =>
      exclusively((tables) => {
        const orphans = tables.jobs.filter(({ owner }) => owner !== null && !tables.leases.has(owner));
        for (const { job } of orphans)
          if (job.state === "queued")
            change(tables, job.id, { waitingFor: null }, { owner: null, ...noWait });
        const isAbandoned = ({ owner, job }: KeptJob): boolean =>
          owner === runs?.owner && !runs?.ids.includes(job.id);
        const lost = tables.jobs.filter(
          (one) => one.job.state === "running" && (orphans.includes(one) || isAbandoned(one)),
        );
        for (const { job, hasAdvanced } of lost) {
          const restartCount = job.restartCount + (hasAdvanced ? 0 : 1);
          const wait = { notBefore: notBefore(restartCount), waitsSince: at };
          change(tables, job.id, { state: "queued", restartCount }, { owner: null, ...wait });
        }
        return lost.map(({ job }) => job.id);
      }),
    release: (id, owner, { at, notBefore, attempt, waitingFor }) =>
      exclusively((tables) => {
        const one = kept(tables, id);
        if (one === undefined || !runsFor(one, owner)) return false;
        const attemptCount = one.job.attemptCount - (attempt === "returned" ? 1 : 0);
        const lostCount = one.job.lostCount + (attempt === "lost" && !one.hasAdvanced ? 1 : 0);
        const counts = { attemptCount, lostCount };
        const wait = { notBefore, waitsSince: at };
        change(
          tables,
          id,
          { state: "queued", ...counts, waitingFor },
          { owner: waitingFor && owner, ...wait },
        );
        return true;
      }),
    addWarning: (id, warning) =>
      exclusively((tables) => {
        const { warnings } = requireKept(tables, id).job;
        if (!warnings.includes(warning)) change(tables, id, { warnings: [...warnings, warning] });
      }),
    updateProgress: (id, owner, progress, counts) =>
      exclusively((tables) => {
        if (runsFor(kept(tables, id), owner))
          change(tables, id, { progress, ...(counts === null ? {} : { counts }) });
      }),
    advance: (id, owner, progress, counts) =>
      exclusively((tables) => {
        const reported = { progress, ...(counts === null ? {} : { counts }) };
        const advanced = { ...reported, lostCount: 0, restartCount: 0, waitingFor: null };
        if (runsFor(kept(tables, id), owner)) change(tables, id, advanced, { hasAdvanced: true });
      }),
    appendEvent: (id, owner, sequence, event) =>
      exclusively((tables) => {
        requireRunning(tables, id, owner);
        addEvent(tables, id, sequence, event);
      }),
  };
}

type Endings = Pick<JobStore, "succeed" | "end" | "requestCancel">;

function endings(exclusively: Exclusively): Endings {
  const fail = (
    tables: Tables,
    id: string,
    state: "failed" | "cancelled",
    errorMessage: string,
    at: Date,
  ) => {
    change(tables, id, { state, errorMessage, endedAt: at, waitingFor: null }, { owner: null });
    addEvent(tables, id, terminalSequence, {
      type: "training_failed",
      data: { error_message: errorMessage },
    });
    tellJob(tables, "training_failed", id);
  };
  return {
    succeed: (id, { owner, version, comparison = null, counts, at, data }) =>
      exclusively((tables) => {
        requireRunning(tables, id, owner);
        if (version !== null) addVersion(tables, version);
        const ended = {
          endedAt: at,
          waitingFor: null,
          counts,
          resultStep: version?.step ?? null,
          comparison,
        };
        change(tables, id, { state: "succeeded", ...ended }, { owner: null });
        addTrainingUsage(tables, requireKept(tables, id), counts, at);
        addEvent(tables, id, terminalSequence, { type: "training_ended", data });
        tellJob(tables, "training_ended", id);
      }),
    end: async (id, state, errorMessage, at, { owner, discard } = {}) => {
      const requireMayEnd = (tables: Tables): void => {
        const one = requireKept(tables, id);
        const mayEnd = jobTransitions[one.job.state].includes(state);
        if (!mayEnd || (owner !== undefined && !runsFor(one, owner)))
          throw conflict(`The job is ${one.job.state}.`);
      };
      await exclusively(requireMayEnd);
      // A memory has no lock to hold meanwhile.
      await discard?.();
      await exclusively((tables) => {
        requireMayEnd(tables);
        fail(tables, id, state, errorMessage, at);
      });
    },
    requestCancel: (id, at) =>
      exclusively((tables): JobState | null => {
        const one = kept(tables, id);
        if (one === undefined) return null;
        if (one.job.state === "running") change(tables, id, { cancelRequested: true });
        if (one.job.state !== "queued") return one.job.state;
        fail(tables, id, "cancelled", "The job was cancelled before it ran.", at);
        return "cancelled";
      }),
  };
}

function idOfCreated({ jobs }: Tables, { keyId, key, bodyHash }: IdempotencyKey): string | null {
  const earlier = jobs.find(({ idempotency }) => idempotency?.keyId === keyId && idempotency.key === key);
  if (earlier === undefined) return null;
  if (earlier.idempotency?.bodyHash === bodyHash) return earlier.job.id;
  throw conflict("The key was used with another body.");
}

function kept({ jobs }: Tables, id: string): KeptJob | undefined {
  return jobs.find(({ job }) => job.id === id);
}

function modelOf({ models }: Tables, { job }: KeptJob): TrainedModel {
  return present(
    models.find(({ id }) => id === job.modelId),
    "the job's model",
  );
}

/** The job as it is read: what base it waits for is nowhere written. */
function shown(tables: Tables, one: KeptJob): TrainingJob {
  const { baseModel } = modelOf(tables, one);
  const isMissing = ![...tables.leases.values()].some(({ baseModels }) => baseModels.includes(baseModel));
  if (one.job.state !== "queued" || !isMissing) return one.job;
  return { ...one.job, waitingFor: missingBaseError(baseModel).message };
}

function requireKept(tables: Tables, id: string): KeptJob {
  const one = kept(tables, id);
  if (one === undefined) throw notFound("training job", id);
  return one;
}

function requireRunning(tables: Tables, id: string, owner: string): KeptJob {
  const one = requireKept(tables, id);
  if (!runsFor(one, owner)) throw conflict(`The job is ${one.job.state}, or another's.`);
  return one;
}

function runsFor(one: KeptJob | undefined, owner: string): boolean {
  return one?.job.state === "running" && one.owner === owner;
}

function addTrainingUsage(tables: Tables, { job, keyId }: KeptJob, counts: JobCounts, at: Date): void {
  const trainingTokens = trainedTokens(counts);
  const model = tables.models.find(({ id }) => id === job.modelId);
  if (trainingTokens === 0 || model === undefined) return;
  const { entity, project, name } = model;
  const by = { day: dayOf(at), keyId: keyId ?? "", entity, model: `${entity}/${project}/${name}` };
  addUsage(tables, [{ ...noUsage, ...by, trainingTokens }]);
}

function change(
  tables: Tables,
  id: string,
  ofJob: Partial<TrainingJob>,
  rest: Partial<KeptJob> = {},
): TrainingJob {
  tables.jobs = tables.jobs.map((one) =>
    one.job.id === id ? { ...one, ...rest, job: { ...one.job, ...ofJob } } : one,
  );
  return requireKept(tables, id).job;
}

function addEvent(tables: Tables, id: string, sequence: number, event: Omit<JobEvent, "id">): void {
  const { events } = requireKept(tables, id);
  if (!events.has(sequence)) change(tables, id, {}, { events: new Map([...events, [sequence, event]]) });
}
