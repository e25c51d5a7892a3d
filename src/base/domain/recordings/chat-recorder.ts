// The contract between chat, which answers, and whoever records what it answers. Recording has nothing to do with an answer:
// nothing here throws, and nothing takes long.
import type { Caller } from "../access.ts";
import type { ChatDelta, ChatRequest, ChatUsage } from "../chat.ts";
import type { CompletionKey } from "./completion-key.ts";
import type { CompletionOutline, RecordedSampling } from "./recorded-completion.ts";

export interface ChatRecorder {
  /** Whether what a trained model answers is recorded. */
  records(request: Pick<ChatRequest, "recording">): boolean;
  begin(answered: AnsweredRequest): ChatRecording;
}

/** A request that is being answered, with what became of it. */
export interface AnsweredRequest {
  readonly request: ChatRequest;
  readonly caller: Caller;
  readonly version: Pick<CompletionOutline, "projectId" | "modelId" | "step" | "model" | "fingerprint">;
  readonly promptTokenIds: readonly number[];
  readonly choiceCount: number;
  readonly sampling: RecordedSampling;
  readonly startedAt: Date;
}

/** One answer while it is recorded; one that is left before its end is not. */
export interface ChatRecording {
  readonly key: CompletionKey;
  add(deltas: readonly ChatDelta[]): void;
  /** Resolves when it is on disk, or where that takes so long that an answer should not wait for it; returns whether it is. */
  end(usage: ChatUsage): Promise<boolean>;
}
