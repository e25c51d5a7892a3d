// Interface of a conversation with one or several models, and the settings and requests that both kinds share.
import type { ChatCompletionRequest, Message } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { printJson, printJsonLine } from "../json-output.ts";

export type ChatClient = Pick<Hone, "chat">;

export interface AskOptions {
  /** Aborts the answer. The conversation then forgets the question and the partial answer. */
  readonly signal?: AbortSignal;
}

/** A conversation that remembers its questions and answers. */
export interface Conversation {
  /**
   * Sends a question and prints the answer as it arrives.
   *
   * @throws HoneError if the server refuses the request; the signal's reason if it aborts
   */
  ask(question: string, options?: AskOptions): Promise<void>;
}

/** Settings that apply to all questions in a conversation. */
export interface ChatSettings {
  readonly system?: string | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
  /**
   * Output format: `document` prints one JSON document per answer, `lines` one line of JSON per answer, and null plain
   * text.
   */
  readonly json: "document" | "lines" | null;
  /** Fields of the answer to print instead of the JSON. */
  readonly select?: string | undefined;
}

/** Returns the initial messages of a conversation: the system prompt, if any. */
export function firstMessages({ system }: ChatSettings): readonly Message[] {
  return system === undefined ? [] : [{ role: "system", content: system }];
}

/**
 * Returns the request for an answer to the messages.
 *
 * @param model null for the server's default model
 */
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

/** Prints an answer as JSON, either indented or on one line. */
export function printAnswer(value: unknown, { json, select }: ChatSettings): void {
  const print = json === "document" ? printJson : printJsonLine;
  print(value, select === undefined ? {} : { select });
}
