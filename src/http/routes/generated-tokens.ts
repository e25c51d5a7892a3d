// Counts the tokens that models generated for a request, for the request's line in the log.
import type { FastifyRequest } from "fastify";
import type { ChatEvent } from "../../domain/chat.ts";

/** Tokens of one of a request's prompts and of its answers. */
interface Generated {
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** For each of its prompts that a model has begun with; null for requests that no model answers. */
    generated: Map<number, Generated> | null;
  }
}

/** The events as they are; what they say of tokens is noted with the request, for its prompt with this index. */
export async function* noted(
  events: AsyncIterable<ChatEvent>,
  request: FastifyRequest,
  index = 0,
): AsyncGenerator<ChatEvent> {
  const notes = (request.generated ??= new Map());
  let model = "";
  for await (const event of events) {
    if (event.kind === "header") {
      model = event.header.model;
      notes.set(index, { model, promptTokens: event.header.promptTokenIds.length, completionTokens: 0 });
    } else notes.set(index, { model, ...event.usage });
    yield event;
  }
}

/** All prompts together; nothing where no model has begun. */
export function generatedFor({ generated }: FastifyRequest): Generated | Record<string, never> {
  const all = [...(generated?.values() ?? [])];
  if (all.length === 0) return {};
  return {
    model: all[0].model,
    promptTokens: all.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    completionTokens: all.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
  };
}
