// Counts the tokens that models generated for a request, for the request's line in the log.
import type { FastifyRequest } from "fastify";
import type { ChatCompletion } from "../../../base/domain/chat.ts";

/** Tokens of a request's prompts and of its answers. */
interface Generated {
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** For each of its prompts that a model has begun with; null for requests that no model answers. */
    completions: Pick<ChatCompletion, "header" | "usage">[] | null;
  }
}

/** Notes a completion that has begun for the request. */
export function noted(completion: ChatCompletion, request: FastifyRequest): ChatCompletion {
  (request.completions ??= []).push(completion);
  return completion;
}

/** All prompts together; nothing where no model has begun. */
export function generatedFor({ completions }: FastifyRequest): Generated | Record<string, never> {
  const all = completions ?? [];
  if (all.length === 0) return {};
  return {
    model: all[0].header.model,
    promptTokens: all.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
    completionTokens: all.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
  };
}
