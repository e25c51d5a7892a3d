// Base models, trained models and their versions, and the store of the trained ones.
import type { Page, PageRequest } from "./page.ts";

/** A folder in the Hugging Face layout, known under a short name. */
export interface BaseModel {
  readonly name: string;
  readonly folder: string;
  readonly engine: BaseEngine;
  /** `off` where calls of tools are read out of its answers only if the operator asks for it, whatever its template writes. */
  readonly toolCalls?: "off";
  /** As whoever added it was told; left out where nobody was. */
  readonly license?: string | null;
}

/** Who computes the tokens of a base model. */
export type BaseEngine =
  /** This program, from the folder's weights. */
  | {
      readonly kind: "embedded";
      /** Absent means `off`. */
      readonly quantization?: Quantization;
    }
  /** vLLM servers that serve the model of which the folder has the small files; weights need not lie there. */
  | {
      readonly kind: "vllm";
      /** `http` or `https` URLs, at least one. */
      readonly urls: readonly string[];
    };

/** How a base is computed, of whatever kind its engine is. */
export type EngineOf<Kind extends BaseEngine["kind"]> = Extract<BaseEngine, { readonly kind: Kind }>;

/** How many bits weights are computed in: `off` for float32, as they are stored, 8 or 4. */
export const quantizations = ["off", "as-stored", "8", "4"] as const;
export type Quantization = (typeof quantizations)[number];

/** What computes a base model's tokens here: the processor, or a graphics processor through WebGPU. */
export type Device = "cpu" | "webgpu";

/** Where a base is computed, and why there, for people; the reason is empty where nothing else was asked for. */
export interface DeviceChoice {
  readonly device: Device;
  readonly reason: string;
}

/** The same of any base, of which vLLM servers may compute some. */
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
  /** What its first adapter is like; versions that it has keep theirs. */
  readonly adapter: AdapterWish;
  readonly createdAt: Date;
}

/** All seven of a layer, by the names that PEFT's `target_modules` uses and in the order that lists of them have. */
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

/** These once each, in the order of {@link projectionNames}. */
export function orderedProjections(names: readonly ProjectionName[]): readonly ProjectionName[] {
  return projectionNames.filter((name) => names.includes(name));
}

/** The shape of adapters that a model asks for; null leaves it to the server. */
export interface AdapterWish {
  readonly rank: number | null;
  /** What the adapter is scaled by, divided by its rank; where the server decides it grows with the rank. */
  readonly alpha: number | null;
  /** What it is on, in every layer and in the order of `projectionNames`; without a list all seven. */
  readonly targets: readonly ProjectionName[] | null;
}

export const adapterOfServer: AdapterWish = { rank: null, alpha: null, targets: null };

/** One version of a trained model; step 0 has no adapter. */
export interface ModelVersion {
  readonly id: string;
  readonly modelId: string;
  /** Version number, policy version and step are the same thing. */
  readonly step: number;
  /** The key of the PEFT folder among the artifacts; null for step 0. */
  readonly adapterFolder: string | null;
  /**
   * Where training goes on from: the trainer's name and its own word for it (see base/domain/trainer/profile); null when it
   * keeps nothing.
   */
  readonly trainerState: string | null;
  /** The job that made it; null for step 0. */
  readonly jobId: string | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** Somebody wants to keep it: it is not deleted until it is unpinned. */
  readonly isPinned: boolean;
  /** What it was trained over; null for step 0, and where nothing is known of it. */
  readonly base: RecordedBase | null;
  /** Hex SHA-256 of the adapter's files; null for step 0, and where it was not recorded yet. */
  readonly adapterHash: string | null;
  /** Of a version that was copied from another model's, what kind of job had made that one; null of all others. */
  readonly copiedKind: "rl" | "sft" | "preference" | null;
  readonly createdAt: Date;
}

/** Which version of which model. */
export type VersionKey = Pick<ModelVersion, "modelId" | "step">;

/** What a base model is, by its files; each a hex SHA-256. */
export interface BaseHashes {
  readonly weights: string;
  /** Of all that decides what it computes: configuration, tokenizer, template and weights. */
  readonly files: string;
}

/**
 * What is known of the base that a version was trained over: the hash of its weights; or `files:` and the hash of all its
 * files, where older programs recorded that alone.
 */
export type RecordedBase = string;

/** What is recorded where only the hash of all files is known. */
export function baseOfFiles(filesHash: string): RecordedBase {
  return `files:${filesHash}`;
}

/** A recorded base as people see it: the first digits of its hash. */
export function shownBase(base: RecordedBase): string {
  return base.startsWith("files:") ? `files ${base.slice(6, 18)}` : `weights ${base.slice(0, 12)}`;
}

/** A version that no job makes; its step is the next. */
export type VersionDraft = Pick<
  ModelVersion,
  "id" | "modelId" | "metrics" | "base" | "adapterHash" | "createdAt"
>;

/** When a version was made. */
export type VersionTime = VersionKey & Pick<ModelVersion, "createdAt">;

/** Some metrics of a version, by name. */
export type VersionMetrics = VersionKey & Pick<ModelVersion, "metrics">;

/** What became of versions that were to be deleted, by step. */
export interface VersionDeletion {
  /** Step 0 counts as deleted and stays. */
  readonly deleted: readonly number[];
  readonly notFound: readonly number[];
  /** These stay until they are unpinned. */
  readonly pinned: readonly number[];
  /** These stay until the job that starts from them has ended. */
  readonly inUse: readonly number[];
}

/** How engines know the adapter of a version: never the same for two versions, deleted ones included. */
export function adapterId(modelId: string, step: number): string {
  return `${modelId}:${step}`;
}

/** The steps of a model whose adapters are among these. */
export function stepsAmong(adapterIds: Iterable<string>, modelId: string): ReadonlySet<number> {
  const prefix = adapterId(modelId, 0).slice(0, -1);
  const own = [...adapterIds].filter((id) => id.startsWith(prefix));
  return new Set(own.map((id) => Number(id.slice(prefix.length))));
}

/** The key that all adapters of a model lie below. */
export function adaptersOf(modelId: string): string {
  return `adapters/${modelId}`;
}

/** The key of the adapter of a version. */
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
   * Stores the model with its version 0, and with one that was copied for it, in one transaction; throws `conflict`
   * when the name exists.
   */
  create(model: TrainedModel, versionZero: ModelVersion, copied?: ModelVersion): Promise<void>;
  find(id: string): Promise<TrainedModel | null>;
  /**
   * The models with these ids that exist, in any order.
   *
   * @param ids at most 100
   */
  findMany(ids: readonly string[]): Promise<readonly TrainedModel[]>;
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
  /**
   * When the versions of these models were made, in one statement: at most `limit`, from behind `after` on, model by model
   * in an order of the store's own, those of each by step.
   *
   * @param modelIds at most 100
   */
  listVersionTimes(
    modelIds: readonly string[],
    after: VersionKey | null,
    limit: number,
  ): Promise<readonly VersionTime[]>;
  /**
   * Reads the named metrics of live versions in one statement. Versions that do not exist are left out, and so are metrics
   * that a version lacks.
   *
   * @param versions at most 300
   */
  findMetrics(versions: readonly VersionKey[], names: readonly string[]): Promise<readonly VersionMetrics[]>;
  /**
   * Deletes the versions but for those that are pinned, or that a job which has begun and not ended starts from. Step 0 is
   * never removed from serving: asking for it counts as done and changes nothing.
   */
  deleteVersions(modelId: string, steps: readonly number[]): Promise<VersionDeletion>;
  /**
   * Deletes all versions of the model but the newest `keptCount`, the base, what {@link deleteVersions} leaves too, the
   * steps that are `spared`, and those that other servers than this one use.
   *
   * @param keptCount at least 1
   * @returns the steps that are gone
   */
  deleteOlderVersions(
    modelId: string,
    options: { readonly keptCount: number; readonly spared: ReadonlySet<number>; readonly server: string },
  ): Promise<readonly number[]>;
  /**
   * Says that a server has requests on a version, until it ends that or loses its lease; one without a lease says nothing.
   * False where there is no such version any more.
   */
  useVersion(version: VersionKey, server: string): Promise<boolean>;
  /** That there is no such use is no error. */
  endUse(version: VersionKey, server: string): Promise<void>;
  /**
   * Adds the model's next version, which jobs then start from.
   *
   * @param place puts its adapter where it stays, and returns the folder; called once, and again only after a failure. What
   *   it gets throws where the step is another's by now: to be called just before
   * @throws ServiceError `not_found` when there is no such model; `conflict` when a job of it has begun and not ended,
   *   whose version is the next
   */
  addVersion(
    draft: VersionDraft,
    place: (step: number, requireStep: () => Promise<void>) => Promise<string>,
  ): Promise<ModelVersion>;
  /** Pins a version or unpins it; returns it as it is then, null when there is none. */
  pinVersion(modelId: string, step: number, isPinned: boolean): Promise<ModelVersion | null>;
  /** The trainer's states of all versions of the model but the newest `keptCount` that have one, deleted ones not counted. */
  oldTrainerStates(modelId: string, keptCount: number): Promise<readonly string[]>;
  /** Takes these states, which are gone, away from the versions of the model. */
  dropTrainerStates(modelId: string, states: readonly string[]): Promise<void>;
  /**
   * Records the base of versions, of all models over it, of which less was known: those that were made over these files,
   * and those of which nothing is known, which are taken to be.
   *
   * @returns of how many nothing was known
   */
  adoptBase(baseModel: string, hashes: BaseHashes): Promise<number>;
  /** Versions of models over this base that were trained over other weights, at most `limit`. */
  versionsOverOthers(baseModel: string, weights: string, limit: number): Promise<readonly ModelVersion[]>;
  /** Records these weights for all versions of the model that were trained over others; returns their steps. */
  acceptBase(modelId: string, weights: string): Promise<readonly number[]>;
}
