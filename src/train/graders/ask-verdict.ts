// Asks a model for a verdict. A JSON Schema constrains the verdict, so that every model can judge.
import type { AskModel } from "../../base/domain/fine-tuning/ask-model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { isJson, type Json, type JsonObject } from "../../base/domain/text/json.ts";

export interface VerdictOptions {
  readonly ask: AskModel;
  readonly signal: AbortSignal;
}

export interface VerdictRequest {
  readonly model: string;
  readonly messages: readonly JsonObject[];
  /** JSON Schema of the verdict. */
  readonly result: JsonObject;
  /** Maximum length of the verdict in tokens; 256 by default. */
  readonly tokensMax?: number;
  /** Further fields of the chat request, such as sampling parameters. */
  readonly more?: JsonObject;
}

/** Maximum length of a verdict in tokens, unless the request sets one. */
const usualTokens = 256;

/**
 * Asks the model, and returns the member `result` of its answer.
 *
 * @throws ServiceError `unsupported` if the verdict was cut off
 */
export async function askVerdict(
  { model, messages, result, tokensMax = usualTokens, more = {} }: VerdictRequest,
  { ask, signal }: VerdictOptions,
): Promise<{ readonly verdict: Json | undefined; readonly tokenCount: number }> {
  const schema = {
    type: "object",
    properties: { result },
    required: ["result"],
    additionalProperties: false,
  };
  const answer = await ask(
    {
      ...more,
      model,
      messages: [...messages],
      max_tokens: tokensMax,
      response_format: { type: "json_schema", json_schema: { name: "verdict", schema, strict: true } },
    },
    { signal },
  );
  const content = answer.choices[0]?.message["content"];
  const text = typeof content === "string" ? content : "";
  if (!isJson(text)) throw unreadVerdict("The model's verdict was cut off; allow more tokens.");
  // Safe cast: parsed from JSON, and the constraint allows only objects.
  const verdict = (JSON.parse(text) as JsonObject)["result"];
  return { verdict, tokenCount: answer.usage.total_tokens };
}

export function unreadVerdict(message: string): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
