// Base models, trained models and their versions, and the store of the trained ones.
import type { Page, PageRequest } from "./page.ts";

/** A folder in the Hugging Face layout, known under a short name. */
export interface BaseModel {
  readonly name: string;
  readonly folder: string;
  /** `off` where calls of tools are read out of its answers only if the operator asks for it, whatever its template writes. */
  readonly toolCalls?: "off";
}

/** A model under training: (entity, project, name) over a base model. Its version 0 is the base itself. */
export interface TrainedModel {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  readonly createdAt: Date;
}

/** One version of a trained model; step 0 has no adapter. */
export interface ModelVersion {
  readonly id: string;
  readonly modelId: string;
  /** Version number, policy version and step are the same thing. */
  readonly step: number;
  /** The PEFT folder, relative to the data folder; null for step 0. */
  readonly adapterFolder: string | null;
  /** Opaque to all but the trainer that made the version: where training goes on from; null when it keeps nothing. */
  readonly trainerState: string | null;
  /** The job that made it; null for step 0. */
  readonly jobId: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly createdAt: Date;
}

/** How engines know the adapter of a version: never the same for two versions, deleted ones included. */
export function adapterId(modelId: string, step: number): string {
  return `${modelId}:${step}`;
}

/** Where the adapter of a version lies, relative to the data folder. */
export function adapterFolderOf(modelId: string, step: number): string {
  return `adapters/${modelId}/${step}`;
}

export interface ModelFilter {
  readonly entity: string | null;
  readonly project: string | null;
  readonly name: string | null;
}

export interface ModelStore {
  /** Stores the model and its version 0 in one transaction; throws `conflict` when the name exists. */
  create(model: TrainedModel, versionZero: ModelVersion): Promise<void>;
  find(id: string): Promise<TrainedModel | null>;
  findByName(entity: string, project: string, name: string): Promise<TrainedModel | null>;
  /**
   * Models of this name, in any project where `project` is null and of any entity where `entity` is: the newest first, at
   * most `limit`.
   */
  findByShortName(
    entity: string | null,
    project: string | null,
    name: string,
    limit: number,
  ): Promise<readonly TrainedModel[]>;
  /** In the order they came; what is null in the filter lets all through. */
  list(filter: ModelFilter, page: PageRequest): Promise<Page<TrainedModel>>;
  /** Removes the model with its versions, jobs, events, trajectories and metrics; false when there is none. */
  delete(id: string): Promise<boolean>;
  /** The newest version, deleted ones left out. */
  newestVersion(modelId: string): Promise<ModelVersion | null>;
  /** The greatest step any version ever had, deleted ones included: the next one is one more. */
  greatestStep(modelId: string): Promise<number>;
  findVersion(modelId: string, step: number): Promise<ModelVersion | null>;
  listVersions(modelId: string, page: PageRequest): Promise<Page<ModelVersion>>;
  /** Step 0 is never removed from serving: asking for it counts as done and changes nothing. */
  deleteVersions(
    modelId: string,
    steps: readonly number[],
  ): Promise<{ readonly deleted: readonly number[]; readonly notFound: readonly number[] }>;
  /**
   * Takes the trainer's state away from all versions of the model but the newest `keptCount` that have one, deleted ones
   * not counted; returns what was taken away.
   */
  dropTrainerStates(modelId: string, keptCount: number): Promise<readonly string[]>;
  /** Lays these metrics over those the version has, but for those it came with, which stay. */
  updateVersionMetrics(
    modelId: string,
    step: number,
    metrics: Readonly<Record<string, number>>,
  ): Promise<void>;
}
