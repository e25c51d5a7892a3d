// Base models, trained models and their versions, and the contract of the store for trained models.
import type { Page, PageRequest } from "./page.ts";

/** A base model: a folder in the layout of Hugging Face models, with a short name. */
export interface BaseModel {
  readonly name: string;
  readonly folder: string;
  readonly engine: BaseEngine;
  /**
   * If `off`, tool calls in this model's answers are not parsed by default, even if its template has a known format for
   * them. The operator can switch parsing on.
   */
  readonly toolCalls?: "off";
  /** License that was recorded when the model was added; absent if none was. */
  readonly license?: string | null;
}

/** Engine that computes a base model's tokens. */
export type BaseEngine =
  /** The engine in this program. It computes with the weights in the model's folder. */
  | {
      readonly kind: "embedded";
      /** Quantization of the weights; `off` if absent. */
      readonly quantization?: Quantization;
    }
  /** vLLM servers that serve the same model. The model's folder needs only the small files, not the weights. */
  | {
      readonly kind: "vllm";
      /** URLs of the servers, with `http` or `https`. There is at least one. */
      readonly urls: readonly string[];
    };

/** Type of {@link BaseEngine} with this kind. */
export type EngineOf<Kind extends BaseEngine["kind"]> = Extract<BaseEngine, { readonly kind: Kind }>;

/**
 * Quantization of weights for the computation: `off` for float32, `as-stored` for the precision of the files, or 8 or 4
 * bits.
 */
export const quantizations = ["off", "as-stored", "8", "4"] as const;
export type Quantization = (typeof quantizations)[number];

/** Device that computes the tokens of a base model: the processor, or a GPU through WebGPU. */
export type Device = "cpu" | "webgpu";

/**
 * Device of a base model. The reason is a sentence that says why it is not the requested device; it is empty if the
 * requested device is used.
 */
export interface DeviceChoice {
  readonly device: Device;
  readonly reason: string;
}

/** Place in which a base model runs: on a device of this program, or on vLLM servers. */
export interface ComputingPlace {
  readonly device: Device | "vllm";
  readonly reason: string;
}

/**
 * A model that is trained, on top of a base model. Entity, project and name identify it. Its version 0 is the base
 * model itself.
 */
export interface TrainedModel {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  /** Requested shape of the model's first adapter. Existing versions keep their shape if this is changed later. */
  readonly adapter: AdapterWish;
  readonly createdAt: Date;
}

/**
 * Names of a layer's projections. The files of some models use other names.
 * - Attention has `q_proj` to `o_proj`.
 * - Layers with a convolution or a delta rule have some of `in_proj` to `out_proj`.
 * - Every layer has `gate_proj` to `down_proj`.
 * - Only Gemma 4 has the last two.
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
  "per_layer_input_gate",
  "per_layer_projection",
] as const;

export type ProjectionName = (typeof projectionNames)[number];

/** Returns the names without duplicates, in the order of {@link projectionNames}. */
export function orderedProjections(names: readonly ProjectionName[]): readonly ProjectionName[] {
  return projectionNames.filter((name) => names.includes(name));
}

/** Requested shape of a model's adapters. The server chooses values for fields that are null. */
export interface AdapterWish {
  readonly rank: number | null;
  /** LoRA alpha: the adapter's scale before it is divided by the rank. The server's default grows with the rank. */
  readonly alpha: number | null;
  /**
   * Projections that the adapter changes in every layer, in the order of `projectionNames`; null for all projections.
   */
  readonly targets: readonly ProjectionName[] | null;
}

export const adapterOfServer: AdapterWish = { rank: null, alpha: null, targets: null };

/** A version of a trained model. Version 0 has no adapter. */
export interface ModelVersion {
  readonly id: string;
  readonly modelId: string;
  /** Number of the version, which is also called step or policy version. */
  readonly step: number;
  /** Key of the adapter's PEFT folder in the artifact store; null for step 0. */
  readonly adapterFolder: string | null;
  /**
   * State from which training can resume, as `<trainer>:<name of the state>` (see base/domain/trainer/profile). Null if
   * no state is stored.
   */
  readonly trainerState: string | null;
  /** Id of the job that created the version; null for step 0. */
  readonly jobId: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** True if the version is pinned. A pinned version cannot be deleted. */
  readonly isPinned: boolean;
  /** Identity of the base model that the version was trained on; null for step 0, or if unknown. */
  readonly base: RecordedBase | null;
  /** SHA-256 of the adapter's files in hexadecimal form; null for step 0, or if not recorded yet. */
  readonly adapterHash: string | null;
  /** Kind of the job that trained the original, if the version is a copy of another model's version; otherwise null. */
  readonly copiedKind: "rl" | "sft" | "preference" | null;
  /** Name under which a client of the Tinker API saved the version; absent if none did. */
  readonly saved?: SavedName;
  /** Present if the version is held back: a request gets it only if it names this version, not by the model's name. */
  readonly held?: HeldVersion;
  readonly createdAt: Date;
}

/** State of a version that a learning cycle made, and the reason why it is not served as the newest version. */
export interface HeldVersion {
  readonly state: "candidate" | "refused" | "rolled_back";
  readonly reason: string;
}

/** Name under which a client of the Tinker API saved a version, and what the client chose for that version. */
export interface SavedName {
  /** Kind and name, such as `weights/first` or `sampler_weights/first`. Unique among the versions of a model. */
  readonly id: string;
  /** Time from which the version is deleted; null to keep it. */
  readonly expiresAt: Date | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** The client's name for the base model, such as `Qwen/Qwen3-0.6B`, under which it finds the tokenizer. */
  readonly baseName: string;
}

/** Model and step, which identify a version. */
export type VersionKey = Pick<ModelVersion, "modelId" | "step">;

/** Identity of a base model's files. Each hash is a SHA-256 in hexadecimal form. */
export interface BaseHashes {
  readonly weights: string;
  /** Hash of all files that affect the model's output: its configuration, tokenizer, template and weights. */
  readonly files: string;
}

/**
 * Recorded identity of a version's base model: the hash of its weights. If an older version of Hone recorded only the
 * hash of all files, the identity is `files:` followed by that hash.
 */
export type RecordedBase = string;

/** Returns the identity to record for a base model if only the hash of all its files is known. */
export function baseOfFiles(filesHash: string): RecordedBase {
  return `files:${filesHash}`;
}

/** Formats a base model's recorded identity for messages, with the first digits of its hash. */
export function shownBase(base: RecordedBase): string {
  return base.startsWith("files:") ? `files ${base.slice(6, 18)}` : `weights ${base.slice(0, 12)}`;
}

/** A new version that does not come from a training job. The store assigns its step. */
export type VersionDraft = Pick<
  ModelVersion,
  "id" | "modelId" | "metrics" | "base" | "adapterHash" | "createdAt" | "saved"
> & {
  /** Returns the state to store with the version, given the adapter's folder; absent to store no state. */
  readonly trainerStateIn?: (adapterFolder: string) => string;
};

/** Key of a version and its time of creation. */
export type VersionTime = VersionKey & Pick<ModelVersion, "createdAt">;

/** Key of a version and some of its metrics, by name. */
export type VersionMetrics = VersionKey & Pick<ModelVersion, "metrics">;

/** Steps for which a deletion was requested, by the outcome. */
export interface VersionDeletion {
  /** Steps that were deleted. If the request names step 0, it is among them, although version 0 is always kept. */
  readonly deleted: readonly number[];
  readonly notFound: readonly number[];
  /** Steps that were not deleted because they are pinned. */
  readonly pinned: readonly number[];
  /**
   * Steps that were not deleted because a queued or running job starts from them, a learning cycle uses them, or an
   * open rollout is pinned to them.
   */
  readonly inUse: readonly number[];
}

/**
 * Returns the id by which an engine knows the adapter of a version. The id is never used again, even after the version
 * is deleted.
 */
export function adapterId(modelId: string, step: number): string {
  return `${modelId}:${step}`;
}

/** Returns the steps of the model's versions whose adapter ids are in the list. */
export function stepsAmong(adapterIds: Iterable<string>, modelId: string): ReadonlySet<number> {
  const prefix = adapterId(modelId, 0).slice(0, -1);
  const own = [...adapterIds].filter((id) => id.startsWith(prefix));
  return new Set(own.map((id) => Number(id.slice(prefix.length))));
}

/** Returns the prefix that the keys of all adapters of a model have in the artifact store. */
export function adaptersOf(modelId: string): string {
  return `adapters/${modelId}`;
}

/** Returns the key of a version's adapter in the artifact store. */
export function adapterFolderOf(modelId: string, step: number): string {
  return `${adaptersOf(modelId)}/${step}`;
}

export interface ModelFilter {
  readonly entity: string | null;
  readonly project: string | null;
  readonly name: string | null;
  /** Text that the full name, `entity/project/name`, contains; the letters A to Z match in either case. */
  readonly text?: string;
  /** True to select only models that learn while they are used. */
  readonly learns?: true;
}

export interface ModelStore {
  /**
   * Stores the model with its version 0, and optionally with a copied version, in one transaction.
   *
   * @throws ServiceError `conflict` if the project already has a model of this name
   */
  create(model: TrainedModel, versionZero: ModelVersion, copied?: ModelVersion): Promise<void>;
  find(id: string): Promise<TrainedModel | null>;
  /**
   * Returns the models with these ids that exist, in any order.
   *
   * @param ids at most 100
   */
  findMany(ids: readonly string[]): Promise<readonly TrainedModel[]>;
  findByName(entity: string, project: string, name: string): Promise<TrainedModel | null>;
  /**
   * Returns up to `limit` models that have this name, newest first. If the project or the entity is null, models of all
   * projects or entities match.
   */
  findByShortName(
    entity: string | null,
    project: string | null,
    name: string,
    limit: number,
  ): Promise<readonly TrainedModel[]>;
  /** Returns models in order of creation. Fields of the filter that are null match all models. */
  list(filter: ModelFilter, page: PageRequest): Promise<Page<TrainedModel>>;
  /**
   * Deletes a model with its versions, jobs, events, trajectories and metrics. Returns false if there is no such model.
   */
  delete(id: string): Promise<boolean>;
  /**
   * Returns the newest version of a model that is neither deleted nor held back; null if there is no such model.
   */
  newestVersion(modelId: string): Promise<ModelVersion | null>;
  /**
   * Returns the highest step that the model's versions, even deleted ones, have had. The next version gets the step
   * after it.
   */
  greatestStep(modelId: string): Promise<number>;
  findVersion(modelId: string, step: number): Promise<ModelVersion | null>;
  listVersions(modelId: string, page: PageRequest): Promise<Page<ModelVersion>>;
  /**
   * Returns the creation times of these models' versions, read in one statement: at most `limit`, beginning after
   * `after`. Models come in a fixed but arbitrary order, and the versions of a model in the order of their steps.
   *
   * @param modelIds at most 100
   */
  listVersionTimes(
    modelIds: readonly string[],
    after: VersionKey | null,
    limit: number,
  ): Promise<readonly VersionTime[]>;
  /**
   * Returns these metrics of these versions, read in one statement. Deleted versions, and metrics that a version lacks,
   * are left out.
   *
   * @param versions at most 300
   */
  findMetrics(versions: readonly VersionKey[], names: readonly string[]): Promise<readonly VersionMetrics[]>;
  /**
   * Deletes the versions, except pinned ones, those from which a queued or running job starts, and those to which an
   * open rollout is pinned. Deleting step 0 succeeds without any effect.
   *
   * @param now current time; rollouts that expired earlier do not count as open
   */
  deleteVersions(modelId: string, steps: readonly number[], now: Date): Promise<VersionDeletion>;
  /**
   * Deletes the older versions of a model. Keeps the newest `keptCount`, step 0, the `spared` steps, versions that
   * other servers use, and versions that {@link deleteVersions} would not delete.
   *
   * @param keptCount at least 1
   * @returns the deleted steps
   */
  deleteOlderVersions(
    modelId: string,
    options: {
      readonly keptCount: number;
      readonly spared: ReadonlySet<number>;
      readonly server: string;
      readonly now: Date;
    },
  ): Promise<readonly number[]>;
  /**
   * Records that a server uses a version for requests. The use lasts until the server ends it or the server's lease
   * expires; without a lease, nothing is recorded. Returns false if the version no longer exists.
   */
  useVersion(version: VersionKey, server: string): Promise<boolean>;
  /** Ends a server's use of a version. Does nothing if the server does not use it. */
  endUse(version: VersionKey, server: string): Promise<void>;
  /**
   * Adds the next version of a model, from which later jobs start.
   *
   * @param place moves the adapter to its final folder and returns that folder. It must call `requireStep` just before
   * the move; `requireStep` throws if another version has taken the step meanwhile. Called again only after a failure
   * @throws ServiceError `not_found` if there is no such model; `conflict` if a queued or running job of the model will
   * publish the next version
   */
  addVersion(
    draft: VersionDraft,
    place: (step: number, requireStep: () => Promise<void>) => Promise<string>,
  ): Promise<ModelVersion>;
  /** Pins or unpins a version. Returns the changed version; null if there is no such version. */
  pinVersion(modelId: string, step: number, isPinned: boolean): Promise<ModelVersion | null>;
  /**
   * Returns the trainer states of a model's versions that are no longer needed. Still needed are the states of saved
   * versions, and of the newest `keptCount` other versions that have a state. Deleted versions do not count.
   */
  oldTrainerStates(modelId: string, keptCount: number): Promise<readonly string[]>;
  /** Returns up to `limit` versions, of any model, whose saved name has expired by a time. */
  expiredVersions(at: Date, limit: number): Promise<readonly VersionKey[]>;
  /** Changes the time at which a saved version expires. Returns null if there is no such version. */
  setExpiry(modelId: string, step: number, expiresAt: Date | null): Promise<ModelVersion | null>;
  /** Sets `trainerState` to null in those versions of a model that name one of these deleted states. */
  dropTrainerStates(modelId: string, states: readonly string[]): Promise<void>;
  /**
   * Records the hash of a base model's weights in two kinds of versions that lack it: versions with the hash of the
   * same base files, and versions whose base is unknown. Assumes that versions with an unknown base were trained on
   * these weights.
   *
   * @returns the number of versions whose base was unknown
   */
  adoptBase(baseModel: string, hashes: BaseHashes): Promise<number>;
  /**
   * Returns up to `limit` versions that were trained on this base model when it had other weights than the given ones.
   */
  versionsOverOthers(baseModel: string, weights: string, limit: number): Promise<readonly ModelVersion[]>;
  /**
   * Accepts these weights for all versions of a model that were trained with other weights. Records the weights as
   * their base, and returns the versions' steps.
   */
  acceptBase(modelId: string, weights: string): Promise<readonly number[]>;
}
