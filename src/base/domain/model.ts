// Base models, trained models and their versions, and the contract of the store of trained models.
import type { Page, PageRequest } from "./page.ts";

/** A folder in the Hugging Face layout, known under a short name. */
export interface BaseModel {
  readonly name: string;
  readonly folder: string;
  readonly engine: BaseEngine;
  /** `off` if tool calls are parsed from answers only on the operator's request, for any template format. */
  readonly toolCalls?: "off";
  /** License noted when the model was added; absent if none was. */
  readonly license?: string | null;
}

/** Engine that serves a base model. */
export type BaseEngine =
  /** This program, with the folder's weights. */
  | {
      readonly kind: "embedded";
      /** Absent means `off`. */
      readonly quantization?: Quantization;
    }
  /** vLLM servers with the same model. The folder needs only the small files, not the weights. */
  | {
      readonly kind: "vllm";
      /** `http` or `https` URLs, at least one. */
      readonly urls: readonly string[];
    };

/** Engine of one kind. */
export type EngineOf<Kind extends BaseEngine["kind"]> = Extract<BaseEngine, { readonly kind: Kind }>;

/** Bits in which weights are computed: `off` for float32, `as-stored`, 8 or 4. */
export const quantizations = ["off", "as-stored", "8", "4"] as const;
export type Quantization = (typeof quantizations)[number];

/** Device that computes a base model's tokens: the processor, or a GPU through WebGPU. */
export type Device = "cpu" | "webgpu";

/** Device of a base model, and the reason for people; empty if no other device was requested. */
export interface DeviceChoice {
  readonly device: Device;
  readonly reason: string;
}

/** Device of a base model that this program or vLLM servers compute. */
export interface ComputingPlace {
  readonly device: Device | "vllm";
  readonly reason: string;
}

/** A model under training: (entity, project, name) over a base model. Its version 0 is the base itself. */
export interface TrainedModel {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  /** Shape of its first adapter; existing versions keep theirs. */
  readonly adapter: AdapterWish;
  readonly createdAt: Date;
}

/** The seven projections of a layer, named as in PEFT's `target_modules` and in the order of all lists. */
export const projectionNames = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

export type ProjectionName = (typeof projectionNames)[number];

/** Returns the distinct names in the order of {@link projectionNames}. */
export function orderedProjections(names: readonly ProjectionName[]): readonly ProjectionName[] {
  return projectionNames.filter((name) => names.includes(name));
}

/** Requested shape of adapters; null lets the server choose. */
export interface AdapterWish {
  readonly rank: number | null;
  /** LoRA scale before division by the rank; the server's choice grows with the rank. */
  readonly alpha: number | null;
  /** Target projections in every layer, in the order of `projectionNames`; null for all seven. */
  readonly targets: readonly ProjectionName[] | null;
}

export const adapterOfServer: AdapterWish = { rank: null, alpha: null, targets: null };

/** One version of a trained model; step 0 has no adapter. */
export interface ModelVersion {
  readonly id: string;
  readonly modelId: string;
  /** Version number, policy version and step are synonyms. */
  readonly step: number;
  /** Key of the PEFT folder among the artifacts; null for step 0. */
  readonly adapterFolder: string | null;
  /**
   * State from which training resumes: the trainer's name and its own name of the state (see
   * base/domain/trainer/profile). Null if none is kept.
   */
  readonly trainerState: string | null;
  /** Job that made it; null for step 0. */
  readonly jobId: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** True if the version may not be deleted until it is unpinned. */
  readonly isPinned: boolean;
  /** Base that it was trained over; null for step 0, and if unknown. */
  readonly base: RecordedBase | null;
  /** Hex SHA-256 of the adapter's files; null for step 0, and if not recorded yet. */
  readonly adapterHash: string | null;
  /** For a copy of another model's version, the kind of job that made the original; otherwise null. */
  readonly copiedKind: "rl" | "sft" | "preference" | null;
  readonly createdAt: Date;
}

/** Key of a version. */
export type VersionKey = Pick<ModelVersion, "modelId" | "step">;

/** Identity of a base model by its files; each a hex SHA-256. */
export interface BaseHashes {
  readonly weights: string;
  /** Hash of all files that affect its output: configuration, tokenizer, template and weights. */
  readonly files: string;
}

/**
 * Recorded identity of a version's base: the hash of its weights, or `files:` and the hash of all its files if an
 * older program recorded only that.
 */
export type RecordedBase = string;

/** Returns the recorded identity if only the hash of all files is known. */
export function baseOfFiles(filesHash: string): RecordedBase {
  return `files:${filesHash}`;
}

/** Formats a recorded base for people: the first digits of its hash. */
export function shownBase(base: RecordedBase): string {
  return base.startsWith("files:") ? `files ${base.slice(6, 18)}` : `weights ${base.slice(0, 12)}`;
}

/** A version that no job makes; its step is the next one. */
export type VersionDraft = Pick<
  ModelVersion,
  "id" | "modelId" | "metrics" | "base" | "adapterHash" | "createdAt"
>;

/** Creation time of a version. */
export type VersionTime = VersionKey & Pick<ModelVersion, "createdAt">;

/** Some metrics of a version, by name. */
export type VersionMetrics = VersionKey & Pick<ModelVersion, "metrics">;

/** Result of deleting versions, by step. */
export interface VersionDeletion {
  /** Step 0 counts as deleted but stays. */
  readonly deleted: readonly number[];
  readonly notFound: readonly number[];
  /** Not deleted until they are unpinned. */
  readonly pinned: readonly number[];
  /** Not deleted until the job that starts from them has ended. */
  readonly inUse: readonly number[];
}

/** Returns the engine's id for a version's adapter: never equal for two versions, including deleted ones. */
export function adapterId(modelId: string, step: number): string {
  return `${modelId}:${step}`;
}

/** Returns the steps of a model whose adapters are among these. */
export function stepsAmong(adapterIds: Iterable<string>, modelId: string): ReadonlySet<number> {
  const prefix = adapterId(modelId, 0).slice(0, -1);
  const own = [...adapterIds].filter((id) => id.startsWith(prefix));
  return new Set(own.map((id) => Number(id.slice(prefix.length))));
}

/** Returns the common key prefix of a model's adapters. */
export function adaptersOf(modelId: string): string {
  return `adapters/${modelId}`;
}

/** Returns the key of a version's adapter. */
export function adapterFolderOf(modelId: string, step: number): string {
  return `${adaptersOf(modelId)}/${step}`;
}

export interface ModelFilter {
  readonly entity: string | null;
  readonly project: string | null;
  readonly name: string | null;
}

export interface ModelStore {
  /**
   * Stores the model with its version 0, and optionally a copied version, in one transaction. @throws ServiceError
   * `conflict` if the name exists
   */
  create(model: TrainedModel, versionZero: ModelVersion, copied?: ModelVersion): Promise<void>;
  find(id: string): Promise<TrainedModel | null>;
  /**
   * Returns the existing models among these ids, in any order.
   *
   * @param ids at most 100
   */
  findMany(ids: readonly string[]): Promise<readonly TrainedModel[]>;
  findByName(entity: string, project: string, name: string): Promise<TrainedModel | null>;
  /** Returns models of this name, newest first, at most `limit`; null matches any project or entity. */
  findByShortName(
    entity: string | null,
    project: string | null,
    name: string,
    limit: number,
  ): Promise<readonly TrainedModel[]>;
  /** Returns models in order of creation; null fields of the filter match all. */
  list(filter: ModelFilter, page: PageRequest): Promise<Page<TrainedModel>>;
  /**
   * Deletes the model with its versions, jobs, events, trajectories and metrics. Returns false if there is no such
   * model.
   */
  delete(id: string): Promise<boolean>;
  /** Returns the newest version that is not deleted. */
  newestVersion(modelId: string): Promise<ModelVersion | null>;
  /** Returns the greatest step of any version, including deleted ones; the next version gets the step after it. */
  greatestStep(modelId: string): Promise<number>;
  findVersion(modelId: string, step: number): Promise<ModelVersion | null>;
  listVersions(modelId: string, page: PageRequest): Promise<Page<ModelVersion>>;
  /**
   * Returns the creation times of these models' versions in one statement: at most `limit`, starting after `after`,
   * grouped by model in any fixed order and then by step.
   *
   * @param modelIds at most 100
   */
  listVersionTimes(
    modelIds: readonly string[],
    after: VersionKey | null,
    limit: number,
  ): Promise<readonly VersionTime[]>;
  /**
   * Reads the named metrics of live versions in one statement. Missing versions and metrics are left out.
   *
   * @param versions at most 300
   */
  findMetrics(versions: readonly VersionKey[], names: readonly string[]): Promise<readonly VersionMetrics[]>;
  /**
   * Deletes the versions, except pinned ones and those from which an active job starts. Deleting step 0 succeeds
   * without any effect.
   */
  deleteVersions(modelId: string, steps: readonly number[]): Promise<VersionDeletion>;
  /**
   * Deletes the model's versions, except the newest `keptCount`, the base, those that {@link deleteVersions} keeps,
   * the `spared` steps, and those that other servers use.
   *
   * @param keptCount at least 1
   * @returns the deleted steps
   */
  deleteOlderVersions(
    modelId: string,
    options: { readonly keptCount: number; readonly spared: ReadonlySet<number>; readonly server: string },
  ): Promise<readonly number[]>;
  /**
   * Records that a server serves requests with a version, until it ends the use or its lease expires; does nothing
   * without a lease. Returns false if the version no longer exists.
   */
  useVersion(version: VersionKey, server: string): Promise<boolean>;
  /** Ends a use. No error if there is none. */
  endUse(version: VersionKey, server: string): Promise<void>;
  /**
   * Adds the model's next version, from which jobs then start.
   *
   * @param place moves the adapter to its final place and returns the folder; called once, and again only after a
   * failure. Its argument throws if another version got the step meanwhile, and is to be called just before the move
   * @throws ServiceError `not_found` if there is no such model; `conflict` if an active job of the model will make the
   * next version
   */
  addVersion(
    draft: VersionDraft,
    place: (step: number, requireStep: () => Promise<void>) => Promise<string>,
  ): Promise<ModelVersion>;
  /** Pins or unpins a version. Returns the updated version; null if there is none. */
  pinVersion(modelId: string, step: number, isPinned: boolean): Promise<ModelVersion | null>;
  /**
   * Returns the trainer states of the model's versions, except those of the newest `keptCount` with a state; deleted
   * versions do not count.
   */
  oldTrainerStates(modelId: string, keptCount: number): Promise<readonly string[]>;
  /** Removes these deleted states from the versions of the model. */
  dropTrainerStates(modelId: string, states: readonly string[]): Promise<void>;
  /**
   * Records the full identity of the base for versions of all models over it: versions over these files, and versions
   * whose base is unknown, which are assumed to be over it.
   *
   * @returns the number of versions whose base was unknown
   */
  adoptBase(baseModel: string, hashes: BaseHashes): Promise<number>;
  /** Returns versions of models over this base that were trained over other weights, at most `limit`. */
  versionsOverOthers(baseModel: string, weights: string, limit: number): Promise<readonly ModelVersion[]>;
  /** Records these weights for the model's versions that were trained over others; returns their steps. */
  acceptBase(modelId: string, weights: string): Promise<readonly number[]>;
}
