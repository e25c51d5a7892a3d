// Base models, trained models and their versions, and the contract of the store for trained models.
import type { Page, PageRequest } from "./page.ts";

/** A base model: a folder in the Hugging Face layout, with a short name. */
export interface BaseModel {
  readonly name: string;
  readonly folder: string;
  readonly engine: BaseEngine;
  /**
   * `off` if tool calls are parsed from this model's answers only when the operator asks for it, even if its template
   * has a known format.
   */
  readonly toolCalls?: "off";
  /** License recorded when the model was added; absent if none was. */
  readonly license?: string | null;
}

/** Engine that serves a base model. */
export type BaseEngine =
  /** The engine in this program, which computes with the folder's weights. */
  | {
      readonly kind: "embedded";
      /** Quantization of the weights; absent means `off`. */
      readonly quantization?: Quantization;
    }
  /** vLLM servers that serve the same model. The folder needs only the small files, not the weights. */
  | {
      readonly kind: "vllm";
      /** URLs of the servers, with `http` or `https`. There is at least one. */
      readonly urls: readonly string[];
    };

/** Engine of one kind. */
export type EngineOf<Kind extends BaseEngine["kind"]> = Extract<BaseEngine, { readonly kind: Kind }>;

/**
 * Quantization of weights during computation: `off` for float32, `as-stored` for the precision of the files, or 8 or 4
 * bits.
 */
export const quantizations = ["off", "as-stored", "8", "4"] as const;
export type Quantization = (typeof quantizations)[number];

/** Device that computes a base model's tokens: the processor, or a GPU through WebGPU. */
export type Device = "cpu" | "webgpu";

/** Device of a base model, and a human-readable reason; the reason is empty if no other device was requested. */
export interface DeviceChoice {
  readonly device: Device;
  readonly reason: string;
}

/** Place in which a base model is computed: a device of this program, or vLLM servers. */
export interface ComputingPlace {
  readonly device: Device | "vllm";
  readonly reason: string;
}

/**
 * A model under training, identified by entity, project and name, on a base model. Its version 0 is the base model
 * itself.
 */
export interface TrainedModel {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  /** Requested shape of the model's first adapter. Later changes of it have no effect on existing versions. */
  readonly adapter: AdapterWish;
  readonly createdAt: Date;
}

/**
 * The projections of layers, in the order of all lists. Layers with attention have the first four. Layers with a
 * convolution or a delta rule have some of the next six, and every layer has the last three; files of some models use
 * other names.
 */
export const projectionNames = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "in_proj",
  "in_proj_qkv",
  "in_proj_z",
  "in_proj_b",
  "in_proj_a",
  "out_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

export type ProjectionName = (typeof projectionNames)[number];

/** Returns the distinct names in the order of {@link projectionNames}. */
export function orderedProjections(names: readonly ProjectionName[]): readonly ProjectionName[] {
  return projectionNames.filter((name) => names.includes(name));
}

/** Requested shape of adapters. The server chooses the value of each field that is null. */
export interface AdapterWish {
  readonly rank: number | null;
  /** LoRA alpha: the scale before division by the rank. The server's default grows with the rank. */
  readonly alpha: number | null;
  /** Target projections in every layer, in the order of `projectionNames`; null for all. */
  readonly targets: readonly ProjectionName[] | null;
}

export const adapterOfServer: AdapterWish = { rank: null, alpha: null, targets: null };

/** A version of a trained model. Step 0 has no adapter. */
export interface ModelVersion {
  readonly id: string;
  readonly modelId: string;
  /** Version number, which is also called step or policy version. */
  readonly step: number;
  /** Key of the adapter's PEFT folder in the artifact store; null for step 0. */
  readonly adapterFolder: string | null;
  /**
   * State from which training resumes, as the trainer's name followed by the trainer's own name for the state (see
   * base/domain/trainer/profile). Null if no state is stored.
   */
  readonly trainerState: string | null;
  /** Job that created the version; null for step 0. */
  readonly jobId: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** True if the version is pinned, which prevents its deletion. */
  readonly isPinned: boolean;
  /** Identity of the base model on which the version was trained; null for step 0, and if unknown. */
  readonly base: RecordedBase | null;
  /** Hex SHA-256 of the adapter's files; null for step 0, and if not recorded yet. */
  readonly adapterHash: string | null;
  /** For a copy of another model's version, the kind of job that trained the original; otherwise null. */
  readonly copiedKind: "rl" | "sft" | "preference" | null;
  readonly createdAt: Date;
}

/** Key of a version. */
export type VersionKey = Pick<ModelVersion, "modelId" | "step">;

/** Identity of a base model's files, as hex SHA-256 hashes. */
export interface BaseHashes {
  readonly weights: string;
  /** Hash of all files that affect the model's output: configuration, tokenizer, template and weights. */
  readonly files: string;
}

/**
 * Recorded identity of a version's base model: the hash of the base model's weights. If an older version of Hone
 * recorded only the hash of all files, the identity is `files:` followed by that hash.
 */
export type RecordedBase = string;

/** Returns the recorded identity of a base model for which only the hash of all files is known. */
export function baseOfFiles(filesHash: string): RecordedBase {
  return `files:${filesHash}`;
}

/** Formats a recorded base model for display, as the first digits of its hash. */
export function shownBase(base: RecordedBase): string {
  return base.startsWith("files:") ? `files ${base.slice(6, 18)}` : `weights ${base.slice(0, 12)}`;
}

/** A version that is added without a training job. The store assigns the next step. */
export type VersionDraft = Pick<
  ModelVersion,
  "id" | "modelId" | "metrics" | "base" | "adapterHash" | "createdAt"
>;

/** Creation time of a version. */
export type VersionTime = VersionKey & Pick<ModelVersion, "createdAt">;

/** Selected metrics of a version, by name. */
export type VersionMetrics = VersionKey & Pick<ModelVersion, "metrics">;

/** Result of deleting versions, by step. */
export interface VersionDeletion {
  /** Deleted steps. If the request names step 0, it is among them, although version 0 is always kept. */
  readonly deleted: readonly number[];
  readonly notFound: readonly number[];
  /** Pinned steps, which were not deleted. */
  readonly pinned: readonly number[];
  /** Steps that were not deleted because an active job starts from them. */
  readonly inUse: readonly number[];
}

/** Returns the engine's id for a version's adapter. The id is never reused, even after the version is deleted. */
export function adapterId(modelId: string, step: number): string {
  return `${modelId}:${step}`;
}

/** Returns the steps of a model whose adapters are among the given ids. */
export function stepsAmong(adapterIds: Iterable<string>, modelId: string): ReadonlySet<number> {
  const prefix = adapterId(modelId, 0).slice(0, -1);
  const own = [...adapterIds].filter((id) => id.startsWith(prefix));
  return new Set(own.map((id) => Number(id.slice(prefix.length))));
}

/** Returns the key prefix that all adapters of a model share. */
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
  /** Returns up to `limit` models with this name, newest first; a null project or entity matches any. */
  findByShortName(
    entity: string | null,
    project: string | null,
    name: string,
    limit: number,
  ): Promise<readonly TrainedModel[]>;
  /** Returns models in order of creation; null fields of the filter match everything. */
  list(filter: ModelFilter, page: PageRequest): Promise<Page<TrainedModel>>;
  /**
   * Deletes the model with its versions, jobs, events, trajectories and metrics. Returns false if there is no such
   * model.
   */
  delete(id: string): Promise<boolean>;
  /** Returns the newest version that is not deleted. */
  newestVersion(modelId: string): Promise<ModelVersion | null>;
  /**
   * Returns the highest step of the model's versions, including deleted ones. The next version gets the step after it.
   */
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
   * Returns the named metrics of versions that are not deleted, in one statement. Missing versions and metrics are
   * left out.
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
   * Deletes the model's versions, except the newest `keptCount`, step 0, the `spared` steps, versions that other
   * servers use, and versions that {@link deleteVersions} would not delete.
   *
   * @param keptCount at least 1
   * @returns the deleted steps
   */
  deleteOlderVersions(
    modelId: string,
    options: { readonly keptCount: number; readonly spared: ReadonlySet<number>; readonly server: string },
  ): Promise<readonly number[]>;
  /**
   * Records that a server uses a version for requests, until the server ends the use or its lease expires. Without a
   * lease, nothing is recorded. Returns false if the version no longer exists.
   */
  useVersion(version: VersionKey, server: string): Promise<boolean>;
  /** Ends a server's use of a version. Has no effect if the server does not use it. */
  endUse(version: VersionKey, server: string): Promise<void>;
  /**
   * Adds the model's next version, from which later jobs start.
   *
   * @param place moves the adapter to its final place and returns the folder; called again only after a failure. Its
   * argument is a function that throws if another version has taken the step meanwhile; `place` must call it just
   * before the move
   * @throws ServiceError `not_found` if there is no such model; `conflict` if an active job of the model will publish
   * the next version
   */
  addVersion(
    draft: VersionDraft,
    place: (step: number, requireStep: () => Promise<void>) => Promise<string>,
  ): Promise<ModelVersion>;
  /** Pins or unpins a version. Returns the updated version; null if there is no such version. */
  pinVersion(modelId: string, step: number, isPinned: boolean): Promise<ModelVersion | null>;
  /**
   * Returns the trainer states of the model's versions, except those of the newest `keptCount` versions that have a
   * state. Deleted versions do not count.
   */
  oldTrainerStates(modelId: string, keptCount: number): Promise<readonly string[]>;
  /** Removes deleted trainer states from the model's versions. */
  dropTrainerStates(modelId: string, states: readonly string[]): Promise<void>;
  /**
   * Records the hash of this base model's weights for versions of all models on it. It does so for versions with only
   * the hash of these files, and for versions whose base is unknown. The latter are assumed to have been trained on
   * this base model.
   *
   * @returns the number of versions whose base was unknown
   */
  adoptBase(baseModel: string, hashes: BaseHashes): Promise<number>;
  /** Returns up to `limit` versions of models on this base model that were trained on other weights. */
  versionsOverOthers(baseModel: string, weights: string, limit: number): Promise<readonly ModelVersion[]>;
  /**
   * Accepts these weights for those of the model's versions that were trained on other weights. Records the weights as
   * their base, and returns the versions' steps.
   */
  acceptBase(modelId: string, weights: string): Promise<readonly number[]>;
}
