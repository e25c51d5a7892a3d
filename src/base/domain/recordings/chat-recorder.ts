// Contract between the chat service and the recorder of its answers. Recording must not affect an answer, so these
// methods never throw and never take long.
import type { Caller } from "../access.ts";
import type { ChatDelta, ChatRequest, ChatUsage } from "../chat.ts";
import type { CallAttempt } from "../rollouts/call-attempt.ts";
import type { CompletionKey } from "./completion-key.ts";
import type { CompletionOutline, RecordedSampling } from "./recorded-completion.ts";

export interface ChatRecorder {
  /** True if the answers to this request are recorded. */
  records(request: Pick<ChatRequest, "recording">): boolean;
  begin(answered: AnsweredRequest): ChatRecording;
}

/** A request that is being answered, with the version that answers and the sampling parameters in effect. */
export interface AnsweredRequest {
  readonly request: ChatRequest;
  readonly caller: Caller;
  readonly version: Pick<CompletionOutline, "projectId" | "modelId" | "step" | "model" | "fingerprint">;
  readonly promptTokenIds: readonly number[];
  readonly choiceCount: number;
  readonly sampling: RecordedSampling;
  readonly startedAt: Date;
  /** Attempt at a call of a rollout; absent or null if the client does not identify attempts. */
  readonly attempt?: CallAttempt | null;
}

/** Recording of one answer. An answer that is abandoned before its end is not recorded. */
export interface ChatRecording {
  readonly key: CompletionKey;
  add(deltas: readonly ChatDelta[]): void;
  /** Resolves once the recording is on disk, or after a short time. Returns true if it is on disk. */
  end(usage: ChatUsage): Promise<boolean>;
}
