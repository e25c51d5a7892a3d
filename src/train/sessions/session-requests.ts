// Dependencies of training sessions, and the requests of clients to start a model or to save its weights.
import type { Clock } from "../../base/domain/clock.ts";
import type {
  AdapterWish,
  ModelStore,
  ModelVersion,
  SavedName,
  TrainedModel,
} from "../../base/domain/model.ts";
import type { TrainerProfile } from "../../base/domain/trainer/profile.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { ModelService } from "../../inference/models/registry/model-service.ts";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { LiveProcess } from "./process/start-process.ts";
import type { SavedKind } from "./run-names.ts";
import type { SessionSettings } from "./settings.ts";

export interface SessionDependencies {
  readonly store: ModelStore;
  readonly models: Pick<ModelService, "register" | "deleteVersions">;
  readonly artifacts: Pick<ArtifactStore, "put" | "path">;
  readonly folder: Pick<ServerFolder, "withScratch">;
  /** Names of the base models. */
  readonly bases: readonly string[];
  /** Refuses a base model over which this server cannot train live models. */
  readonly requireLive: (baseModel: string) => void;
  /** Profile of the trainer in the processes. */
  readonly trainer: TrainerProfile;
  readonly startProcess: (model: TrainedModel, signal: AbortSignal) => Promise<LiveProcess>;
  /** Loads a new version into the engine of its base model before the first request for it. */
  readonly prepareVersion: (version: ModelVersion, baseModel: string) => Promise<void>;
  /** Called when a model has a new version. */
  readonly onNewVersion: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: SessionSettings;
}

/** A request to start a model, either with a new adapter or from saved weights. */
export interface ModelRequest {
  readonly seqId: number;
  readonly fingerprint: string;
  /** Base model and adapter shape of a new adapter; null to use those of the saved weights. */
  readonly fresh: {
    /** The client's name for the base model. */
    readonly baseName: string;
    readonly adapter: AdapterWish;
    readonly seed: string;
  } | null;
  /** Weights to start from; null for a new adapter. */
  readonly from: { readonly path: string; readonly keepsOptimizer: boolean } | null;
}

/** A request to save weights. */
export interface SaveRequest {
  readonly kind: SavedKind;
  /** Name of the weights. If null, only the sampler with the number `samplerSeqId` can use them. */
  readonly name: string | null;
  readonly samplerSeqId: number | null;
  readonly lifeMs: number | null;
  readonly overwrites: boolean;
  readonly metadata: SavedName["metadata"];
}
