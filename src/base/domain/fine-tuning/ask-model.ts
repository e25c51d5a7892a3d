// Functions that let the server's own code use the models that the server serves.
import type { JsonObject } from "../text/json.ts";

/**
 * Answers a chat request. Both have the format of OpenAI's API.
 *
 * @throws ServiceError as the chat service does
 */
export type AskModel = (body: JsonObject, options: { readonly signal: AbortSignal }) => Promise<ModelAnswer>;

/** Returns the embedding of each text, as a unit vector, computed by the server's default model. */
export type EmbedTexts = (
  texts: readonly string[],
  options: { readonly signal: AbortSignal },
) => Promise<readonly Float32Array[]>;

export interface UsedModels {
  readonly ask: AskModel;
  readonly embed: EmbedTexts;
}

/** The answer, with those fields that callers read. */
export interface ModelAnswer {
  readonly choices: readonly ({
    readonly message: JsonObject;
    readonly finish_reason: string;
  } & JsonObject)[];
  readonly usage: { readonly total_tokens: number; readonly completion_tokens: number };
}
