// A conversation with one model or several, as the user sees it.
import type { ChatCompletionRequest, Message } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";

export type ChatClient = Pick<Hone, "chat">;

export interface AskOptions {
  /** Aborts the answer, which is then dropped from the conversation. */
  readonly signal?: AbortSignal;
}

/** A conversation that remembers its messages. */
export interface Conversation {
  /** Sends a question and prints the answer as it arrives. @throws the server's refusal; the signal's reason */
  ask(question: string, options?: AskOptions): Promise<void>;
}

/** Settings of all questions in a conversation. */
export interface ChatSettings {
  readonly system?: string | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
  /** `document`: a JSON document per answer; `lines`: a line per answer; null: text. */
  readonly json: "document" | "lines" | null;
}

/** Returns the first messages of a conversation. */
export function firstMessages({ system }: ChatSettings): readonly Message[] {
  return system === undefined ? [] : [{ role: "system", content: system }];
}

/** @param model null for the server's default */
export function toChatRequest(
  model: string | null,
  messages: readonly Message[],
  { temperature, topP, maxTokens, seed }: ChatSettings,
): ChatCompletionRequest {
  return {
    messages,
    ...(model === null ? {} : { model }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(seed === undefined ? {} : { seed }),
  };
}

/** Prints an answer in the requested JSON form. */
export function printJson(value: unknown, { json }: ChatSettings): void {
  process.stdout.write(`${JSON.stringify(value, null, json === "document" ? 2 : 0)}\n`);
}
