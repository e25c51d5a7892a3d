// Records the answers of trained models. The end of an answer waits briefly until the recording is on disk. If
// recording fails, the failure is logged and counted, and the answer continues.
import { hash } from "node:crypto";
import type { ChatPrompt, ChatUsage } from "../../../base/domain/chat.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { joinedText } from "../../../base/domain/content-part.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type {
  AnsweredRequest,
  ChatRecorder,
  ChatRecording,
} from "../../../base/domain/recordings/chat-recorder.ts";
import type { CompletionStore } from "../../../base/domain/recordings/completion-store.ts";
import type {
  RecordedCompletion,
  RecordedPrompt,
} from "../../../base/domain/recordings/recorded-completion.ts";
import type { StorageRoom } from "../../../base/domain/retention/storage-room.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { GatheredAnswer } from "./gathered-answer.ts";
import { RecordingWriter } from "./recording-writer.ts";
import type { RecordingSettings } from "./settings.ts";

export interface RecorderDependencies {
  readonly store: Pick<CompletionStore, "add">;
  readonly settings: RecordingSettings;
  /** Checks an entity's storage quota; absent if unlimited. */
  readonly room?: StorageRoom | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** The recorder; `stop` writes the recordings that are still waiting. */
export type Recorder = ChatRecorder & Service;

/** Maximum length in characters of the excerpts of prompts and answers that lists of recordings show. */
const beginningLength = 160;

/** Estimated size of a recording without its content, in bytes. */
const outlineBytes = 1000;

/** Estimated size of one token of a prompt, in bytes. */
const promptTokenBytes = 4;

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { settings } = dependencies;
  const writer = new RecordingWriter(dependencies);
  return {
    ...serviceOf("recorder", { stop: () => writer.stop() }),
    records: ({ recording: { isWanted } }) =>
      settings.record === "on" ? isWanted !== false : settings.record === "asked" && isWanted === true,
    begin: (answered) => new Recording(answered, writer, dependencies),
  };
}

class Recording implements ChatRecording {
  readonly #answered: AnsweredRequest;
  readonly #writer: RecordingWriter;
  readonly #dependencies: Pick<RecorderDependencies, "settings" | "clock" | "room">;
  readonly #promptBytes: number;
  readonly #rolloutId: string | null;
  readonly #answer: GatheredAnswer;
  #firstTokenMs: number | null = null;

  constructor(
    answered: AnsweredRequest,
    writer: RecordingWriter,
    dependencies: Pick<RecorderDependencies, "settings" | "clock" | "room">,
  ) {
    this.#answered = answered;
    this.#writer = writer;
    this.#dependencies = dependencies;
    const { request, promptTokenIds, choiceCount, caller } = answered;
    this.#rolloutId = caller.rollout?.id ?? null;
    const bytesMax = dependencies.settings[this.#rolloutId === null ? "bytesMax" : "rolloutBytesMax"];
    this.#promptBytes =
      promptTokenIds.length * promptTokenBytes + valueBytes(recordedPrompt(request.prompt), bytesMax);
    const left = bytesMax - this.#promptBytes;
    this.#answer = new GatheredAnswer(choiceCount, { bytesMax: left, beginning: beginningLength });
  }

  get key() {
    const { request, version } = this.#answered;
    return { projectId: version.projectId, requestId: request.identity.requestId };
  }

  add(deltas: Parameters<ChatRecording["add"]>[0]): void {
    const { startedAt } = this.#answered;
    if (deltas.some(({ tokenIds }) => tokenIds.length > 0))
      this.#firstTokenMs ??= Math.max(0, this.#dependencies.clock.now().getTime() - startedAt.getTime());
    for (const delta of deltas) this.#answer.add(delta);
  }

  async end(usage: ChatUsage): Promise<boolean> {
    try {
      return await this.#write(this.#completion(usage));
    } catch (error) {
      this.#writer.lose([this.key], "fault", error);
      return false;
    }
  }

  async #write(completion: RecordedCompletion): Promise<boolean> {
    const { settings, clock } = this.#dependencies;
    const bytes = completion.content === null ? outlineBytes : this.#promptBytes + this.#answer.bytes;
    const written = new AbortController();
    const { room } = this.#dependencies;
    const writing = (
      room === undefined ? this.#writer.write(completion, bytes) : this.#writeInto(room, completion, bytes)
    ).finally(() => written.abort(waitOver));
    // When the answer ends, it must be certain that the rollout contains the call.
    if (this.#rolloutId !== null) return await writing;
    const patience = clock.sleep(settings.waitMs, { signal: written.signal }).then(
      () => false,
      // If the write ends before the sleep, `written` aborts the sleep, and the result of the write counts.
      () => writing,
    );
    return await Promise.race([writing, patience]);
  }

  /**
   * Writes the recording, unless its entity has exceeded its storage quota. The quota never affects the answer itself.
   */
  async #writeInto(room: StorageRoom, completion: RecordedCompletion, bytes: number): Promise<boolean> {
    try {
      await room.require(completion.projectId.split("/", 1)[0] ?? "");
    } catch (error) {
      const isFull = error instanceof ServiceError && error.code === "full";
      this.#writer.lose([this.key], isFull ? "full" : "fault", error);
      return false;
    }
    return await this.#writer.write(completion, bytes);
  }

  #completion(usage: ChatUsage): RecordedCompletion {
    const { request, caller, version, promptTokenIds, sampling, startedAt, attempt } = this.#answered;
    const { choices } = this.#answer;
    const prompt = recordedPrompt(request.prompt);
    return {
      ...version,
      ...this.key,
      owner: caller.owner,
      startedAt,
      endedAt: this.#dependencies.clock.now(),
      firstTokenMs: this.#firstTokenMs,
      usage,
      promptHash: hashOf(promptTokenIds),
      finishReasons: this.#answer.finishReasons,
      hasLogprobs: this.#answer.hasLogprobs,
      promptText: excerptOf(prompt),
      answerText: cut(this.#answer.beginning),
      rolloutId: this.#rolloutId,
      ...(attempt && { attempt }),
      metadata: request.recording.metadata,
      content: choices && { prompt, promptTokenIds, sampling, choices },
    };
  }
}

function recordedPrompt(prompt: ChatPrompt): RecordedPrompt {
  if (prompt.kind === "conversation") {
    // `sampled` is left out, because its tokens are in `promptTokenIds`.
    const { sampled: _, ...rest } = prompt;
    return rest;
  }
  if (prompt.kind !== "tokens") return prompt;
  const { tokenIds: _, ...rest } = prompt;
  return rest;
}

function excerptOf(prompt: RecordedPrompt): string {
  if (prompt.kind === "tokens") return "";
  if (prompt.kind === "text") return cut(prompt.text);
  const asked = prompt.messages.findLast(({ role }) => role === "user");
  return cut(joinedText(asked?.["content"] ?? null) ?? "");
}

/** Shortens a text to an excerpt. Never splits a surrogate pair. */
function cut(text: string): string {
  return text
    .trimStart()
    .slice(0, beginningLength)
    .replace(/[\uD800-\uDBFF]$/, "");
}

function hashOf(tokenIds: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(4 * tokenIds.length));
  for (const [index, id] of tokenIds.entries()) bytes.setUint32(4 * index, id, true);
  return hash("sha256", bytes);
}

/**
 * Estimates the length of a value's JSON without creating it, because a prompt may have megabytes. Stops counting above
 * the limit.
 *
 * @param value parsed from JSON
 */
export function valueBytes(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let bytes = 2;
  for (const [name, member] of Object.entries(value)) {
    bytes += (Array.isArray(value) ? 1 : name.length + 4) + valueBytes(member, limit - bytes);
    if (bytes > limit) break;
  }
  return bytes;
}
