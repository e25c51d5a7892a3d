// The messages between the server's process and the engine's. Requests are named by numbers that are never used twice,
// so that what comes of one that has just ended cannot be taken for another's with the same id.
import type { GenerationRequest } from "../domain/generation.ts";
import type { TokenVocabulary } from "../domain/vocabulary.ts";
import type { LogStyle } from "../telemetry/logger.ts";
import type { CacheCounts } from "./constraints/constraint-cache.ts";
import type { ConstraintSettings } from "./constraints/settings.ts";
import type { PackedOutputs } from "./events/packed-outputs.ts";
import type { EngineSettings } from "./settings.ts";

/** Everything the engine needs to know before it can serve. */
export interface EngineLoad {
  readonly modelFolder: string;
  readonly cacheFolder: string;
  /** For constraints, which are about text. */
  readonly vocabulary: TokenVocabulary;
  readonly settings: EngineSettings;
  readonly constraints: ConstraintSettings;
  readonly log: LogStyle;
}

export type EngineRequest =
  | { readonly kind: "submit"; readonly key: number; readonly request: GenerationRequest }
  | { readonly kind: "abort"; readonly key: number }
  | { readonly kind: "stop-choice"; readonly key: number; readonly choice: number }
  | { readonly kind: "drop-adapter"; readonly id: string };

/** What the parent must know of a loaded model. */
export interface LoadedModel {
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** Bytes in the cache for one position of one choice. */
  readonly bytesPerPosition: number;
  /** Hex SHA-256 of its weights. */
  readonly weights: string;
}

/** What has gathered of one step or several; see `EventOutbox`. */
export interface EngineEvents {
  readonly outputs: PackedOutputs;
  readonly kvCacheBytes: number;
  readonly constraintCache: CacheCounts;
}

export interface EngineProtocol {
  readonly load: EngineLoad;
  readonly ready: LoadedModel;
  readonly request: EngineRequest;
  readonly event: EngineEvents;
}
