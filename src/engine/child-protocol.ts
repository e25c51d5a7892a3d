// The messages between the server's process and the engine's. Requests are named by numbers that are never used twice,
// so that news of one that has just ended cannot be taken for news of another with the same id.
import type { ErrorCode } from "../domain/service-error.ts";
import type { GenerationRequest } from "../domain/generation.ts";
import type { LogLevel } from "../telemetry/logger.ts";
import type { LoopNews } from "./loop/engine-loop.ts";
import type { EngineSettings } from "./settings.ts";

export type ParentMessage =
  | {
      /** The first message: everything the engine needs to know. */
      readonly kind: "load";
      readonly modelFolder: string;
      readonly cacheFolder: string;
      readonly settings: EngineSettings;
      readonly logLevel: LogLevel;
    }
  | { readonly kind: "submit"; readonly key: number; readonly request: GenerationRequest }
  | { readonly kind: "abort"; readonly key: number }
  | { readonly kind: "stop-choice"; readonly key: number; readonly choice: number }
  | { readonly kind: "drop-adapter"; readonly id: string }
  /** Finish the step in progress and end. */
  | { readonly kind: "stop" };

/** What the parent must know of a loaded model. */
export interface LoadedModel {
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** Bytes in the cache for one position of one choice. */
  readonly bytesPerPosition: number;
}

export type ChildMessage =
  | ({ readonly kind: "ready" } & LoadedModel)
  /** The model cannot be served; the process ends. */
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string }
  /** One for each graph call that brought something, and one for each step. */
  | { readonly kind: "news"; readonly news: readonly LoopNews[]; readonly kvCacheBytes: number };
