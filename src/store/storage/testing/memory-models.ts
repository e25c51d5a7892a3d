// For tests: the model store in memory.
import { isTerminal } from "../../../base/domain/job.ts";
import {
  baseOfFiles,
  type ModelStore,
  type ModelVersion,
  type VersionKey,
} from "../../../base/domain/model.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { Metrics } from "../../../base/domain/trajectory.ts";
import { versionIsTaken } from "../models/version-store.ts";
import { conflict, type Exclusively, jsonBytes, pageOf, type Tables } from "./memory-tables.ts";

export function memoryModels(exclusively: Exclusively): ModelStore {
  return {
    create: (model, versionZero, copied) =>
      exclusively((tables) => {
        const isTaken = tables.models.some(
          ({ id, entity, project, name }) =>
            id === model.id || (entity === model.entity && project === model.project && name === model.name),
        );
        if (isTaken) throw conflict("The model exists.");
        tables.models = [...tables.models, model];
        addVersion(tables, versionZero);
        if (copied !== undefined) addVersion(tables, copied);
      }),
    find: (id) => exclusively(({ models }) => models.find((model) => model.id === id) ?? null),
    findMany: (ids) => exclusively(({ models }) => models.filter(({ id }) => ids.includes(id))),
    findByName: (entity, project, name) =>
      exclusively(({ models }) => models.find(fits({ entity, project, name })) ?? null),
    findByShortName: (entity, project, name, limit) =>
      exclusively(({ models }) =>
        models.filter(fits({ entity, project, name })).toReversed().slice(0, limit),
      ),
    list: (filter, page) => exclusively(({ models }) => pageOf(models.filter(fits(filter)), page)),
    delete: (id) =>
      exclusively((tables) => {
        const count = tables.models.length;
        tables.models = tables.models.filter((model) => model.id !== id);
        tables.versions = tables.versions.filter(({ modelId }) => modelId !== id);
        tables.jobs = tables.jobs.filter(({ job }) => job.modelId !== id);
        tables.logs = tables.logs.filter(({ log }) => log.modelId !== id);
        tables.outlines = tables.outlines.filter(({ modelId }) => modelId !== id);
        tables.completions = tables.completions.filter(({ modelId }) => modelId !== id);
        return tables.models.length < count;
      }),
    newestVersion: (modelId) => exclusively((tables) => liveVersions(tables, modelId).at(-1) ?? null),
    greatestStep: (modelId) => exclusively((tables) => greatestStep(tables, modelId)),
    findVersion: (modelId, step) =>
      exclusively((tables) => liveVersions(tables, modelId).find((one) => one.step === step) ?? null),
    listVersions: (modelId, page) =>
      exclusively((tables) =>
        pageOf(liveVersions(tables, modelId), page, {
          bytesOf: ({ metrics, trainerState }) => jsonBytes(metrics) + Buffer.byteLength(trainerState ?? ""),
          places: allVersions(tables, modelId),
        }),
      ),
    listVersionTimes: (modelIds, after, limit) =>
      exclusively((tables) => {
        const all = modelIds.toSorted().flatMap((modelId) => liveVersions(tables, modelId));
        const isBehind = ({ modelId, step }: VersionKey) =>
          after === null || modelId > after.modelId || (modelId === after.modelId && step > after.step);
        const times = all.filter(isBehind).slice(0, limit);
        return times.map(({ modelId, step, createdAt }) => ({ modelId, step, createdAt }));
      }),
    findMetrics: (versions, names) =>
      exclusively((tables) =>
        [...new Set(versions.map(({ modelId }) => modelId))]
          .flatMap((modelId) => liveVersions(tables, modelId))
          .filter(({ modelId, step }) =>
            versions.some((wanted) => wanted.modelId === modelId && wanted.step === step),
          )
          .map(({ modelId, step, metrics }) => ({
            modelId,
            step,
            metrics: Object.fromEntries(Object.entries(metrics).filter(([name]) => names.includes(name))),
          })),
      ),
    deleteVersions: (modelId, steps) =>
      exclusively((tables) => {
        const live = liveVersions(tables, modelId);
        const wanted = [...new Set(steps)];
        const isLive = (step: number) => live.some((version) => version.step === step);
        const isPinned = (step: number) => live.some((version) => version.step === step && version.isPinned);
        const isStart = (step: number) => startStepsOfJobs(tables, modelId).has(step);
        const mayGo = (step: number) => step === 0 || (isLive(step) && !isPinned(step) && !isStart(step));
        const deleted = wanted.filter(mayGo);
        markDeleted(tables, modelId, deleted);
        return {
          deleted,
          notFound: wanted.filter((step) => !isLive(step)),
          pinned: wanted.filter((step) => step !== 0 && isPinned(step)),
          inUse: wanted.filter((step) => step !== 0 && !isPinned(step) && isLive(step) && isStart(step)),
        };
      }),
    deleteOlderVersions: (modelId, { keptCount, spared, server }) =>
      exclusively((tables) => {
        const isUsed = (step: number) =>
          tables.uses.some(
            (use) =>
              use.modelId === modelId &&
              use.step === step &&
              use.server !== server &&
              tables.leases.has(use.server),
          );
        const deleted = liveVersions(tables, modelId)
          .filter(({ step }) => step > 0)
          .toReversed()
          .slice(keptCount)
          .filter(({ isPinned }) => !isPinned)
          .map(({ step }) => step)
          .filter(
            (step) => !spared.has(step) && !isUsed(step) && !startStepsOfJobs(tables, modelId).has(step),
          );
        markDeleted(tables, modelId, deleted);
        return deleted;
      }),
    useVersion: ({ modelId, step }, server) =>
      exclusively((tables) => {
        if (!liveVersions(tables, modelId).some((version) => version.step === step)) return false;
        tables.uses = [...tables.uses, { modelId, step, server }];
        return true;
      }),
    endUse: ({ modelId, step }, server) =>
      exclusively((tables) => {
        tables.uses = tables.uses.filter(
          (use) => use.modelId !== modelId || use.step !== step || use.server !== server,
        );
      }),
    pinVersion: (modelId, step, isPinned) =>
      exclusively((tables) => {
        tables.versions = tables.versions.map((version) =>
          version.modelId === modelId && version.step === step && !version.isDeleted
            ? { ...version, isPinned }
            : version,
        );
        return liveVersions(tables, modelId).find((one) => one.step === step) ?? null;
      }),
    addVersion: async (draft, place) => {
      const { modelId } = draft;
      const step = await exclusively((tables) => {
        if (!tables.models.some(({ id }) => id === modelId)) throw notFound("model", modelId);
        if (startStepsOfJobs(tables, modelId).size > 0) throw versionIsTaken();
        return greatestStep(tables, modelId) + 1;
      });
      const adapterFolder = await place(step, async () => undefined);
      const version = {
        ...draft,
        step,
        adapterFolder,
        trainerState: null,
        jobId: null,
        isPinned: false,
        copiedKind: null,
      };
      await exclusively((tables) => addVersion(tables, version));
      return version;
    },
    oldTrainerStates: (modelId, keptCount) =>
      exclusively((tables) => {
        const withState = allVersions(tables, modelId)
          .filter(({ trainerState }) => trainerState !== null)
          .toReversed();
        const kept = withState.filter(({ isDeleted }) => !isDeleted).slice(0, keptCount);
        const old = withState.filter((version) => !kept.includes(version));
        return old.flatMap(({ trainerState }) => trainerState ?? []);
      }),
    dropTrainerStates: (modelId, states) =>
      exclusively((tables) => {
        const dropped = allVersions(tables, modelId).filter(
          ({ trainerState }) => trainerState !== null && states.includes(trainerState),
        );
        tables.versions = tables.versions.map((version) =>
          dropped.includes(version) ? { ...version, trainerState: null } : version,
        );
      }),
    adoptBase: (baseModel, { weights, files }) =>
      exclusively((tables) => {
        const mayBe = ({ base }: ModelVersion) => base === null || base === baseOfFiles(files);
        const isAdopted = (version: ModelVersion) =>
          version.adapterFolder !== null && isOver(tables, version, baseModel) && mayBe(version);
        const adopted = tables.versions.filter(isAdopted);
        setBase(tables, adopted, weights);
        return adopted.filter(({ base, isDeleted }) => base === null && !isDeleted).length;
      }),
    versionsOverOthers: (baseModel, weights, limit) =>
      exclusively((tables) =>
        [...new Set(tables.versions.map(({ modelId }) => modelId))]
          .flatMap((modelId) => liveVersions(tables, modelId))
          .filter((version) => isOver(tables, version, baseModel))
          .filter(({ base }) => base !== null && base !== weights)
          .toSorted((one, other) => +other.createdAt - +one.createdAt || (one.id < other.id ? -1 : 1))
          .slice(0, limit),
      ),
    acceptBase: (modelId, weights) =>
      exclusively((tables) => {
        const others = allVersions(tables, modelId).filter(({ base }) => base !== null && base !== weights);
        setBase(tables, others, weights);
        return others.filter(({ isDeleted }) => !isDeleted).map(({ step }) => step);
      }),
  };
}

function isOver({ models }: Tables, { modelId }: ModelVersion, baseModel: string): boolean {
  return models.some((model) => model.id === modelId && model.baseModel === baseModel);
}

function setBase(tables: Tables, changed: readonly ModelVersion[], base: string): void {
  tables.versions = tables.versions.map((version) =>
    changed.includes(version) ? { ...version, base } : version,
  );
}

type NameFilter = { readonly [Part in "entity" | "project" | "name"]: string | null };

function fits(filter: NameFilter) {
  return (model: { readonly [Part in keyof NameFilter]: string }): boolean =>
    model.entity === (filter.entity ?? model.entity) &&
    model.project === (filter.project ?? model.project) &&
    model.name === (filter.name ?? model.name);
}

/** Adds a version whose step, id and job are new; throws `conflict` otherwise. */
export function addVersion(tables: Tables, version: ModelVersion): void {
  const isTaken = tables.versions.some(
    ({ id, modelId, step, jobId }) =>
      id === version.id ||
      (modelId === version.modelId && step === version.step) ||
      (jobId !== null && jobId === version.jobId),
  );
  if (isTaken) throw conflict("The version exists.");
  tables.versions = [...tables.versions, { ...version, isDeleted: false, ownMetrics: version.metrics }];
}

/** Lays metrics over those of a live version, but for those it came with, if there is one. */
export function mergeMetrics(tables: Tables, modelId: string, step: number, metrics: Metrics): void {
  tables.versions = tables.versions.map((version) =>
    version.modelId === modelId && version.step === step && !version.isDeleted
      ? { ...version, metrics: { ...version.metrics, ...metrics, ...version.ownMetrics } }
      : version,
  );
}

/** The greatest step any version ever had, deleted ones included. */
export function greatestStep(tables: Tables, modelId: string): number {
  return Math.max(0, ...allVersions(tables, modelId).map(({ step }) => step));
}

function markDeleted(tables: Tables, modelId: string, steps: readonly number[]): void {
  tables.versions = tables.versions.map((version) =>
    version.modelId === modelId && version.step !== 0 && steps.includes(version.step)
      ? { ...version, isDeleted: true }
      : version,
  );
}

/** The versions that jobs start from which have begun and not ended. */
function startStepsOfJobs({ jobs }: Tables, modelId: string): ReadonlySet<number> {
  return new Set(
    jobs.flatMap(({ job }) =>
      job.modelId === modelId && job.pins !== null && !isTerminal(job.state) ? [job.pins.startStep] : [],
    ),
  );
}

function allVersions({ versions }: Tables, modelId: string) {
  return versions.filter((version) => version.modelId === modelId).toSorted((a, b) => a.step - b.step);
}

function liveVersions(tables: Tables, modelId: string): readonly ModelVersion[] {
  return allVersions(tables, modelId)
    .filter(({ isDeleted }) => !isDeleted)
    .map(({ isDeleted: _isDeleted, ownMetrics: _ownMetrics, ...version }) => version);
}
