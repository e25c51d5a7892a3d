// A conversation as whoever holds it sees it, with one model or with several beside each other.
import type { ChatCompletionRequest, Message } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";

export type ChatClient = Pick<Hone, "chat">;

export interface AskOptions {
  /** Gives the answer up, which is then forgotten. */
  readonly signal?: AbortSignal;
}

/** Who is asked, and remembers what was said. */
export interface Asked {
  /** Asks, and prints the answer as it comes. @throws what the server refuses; the signal's reason */
  ask(question: string, options?: AskOptions): Promise<void>;
}

/** What every question is asked with. */
export interface Asking {
  readonly system?: string | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly seed?: number | undefined;
  /** `document`: one for each answer; `lines`: one a line; null: as text. */
  readonly json: "document" | "lines" | null;
}

/** What a conversation begins with. */
export function beginning({ system }: Asking): readonly Message[] {
  return system === undefined ? [] : [{ role: "system", content: system }];
}

/** @param model null leaves it to the server */
export function bodyOf(
  model: string | null,
  messages: readonly Message[],
  { temperature, topP, maxTokens, seed }: Asking,
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

/** Prints what is an answer, as was asked for. */
export function printJson(value: unknown, { json }: Asking): void {
  process.stdout.write(`${JSON.stringify(value, null, json === "document" ? 2 : 0)}\n`);
}
