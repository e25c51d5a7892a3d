// Lets code in this server, such as graders, ask models and embed texts. Its requests take the same path as those of
// clients.
import type { Caller } from "../../base/domain/access.ts";
import type { AskModel, ModelAnswer, UsedModels } from "../../base/domain/fine-tuning/ask-model.ts";
import type { Allowance } from "../../base/domain/keys/limits.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { chatAnswer } from "../wire/chat/chat-response.ts";
import { readChatRequest } from "../wire/chat/read-chat-request.ts";
import type { ChatPort, HttpDependencies } from "./dependencies.ts";
import { bodyLimits, type HttpSettings } from "./settings.ts";

interface AskDependencies extends Pick<HttpDependencies, "embeddings"> {
  readonly chat: ChatPort;
  readonly settings: HttpSettings;
}

/**
 * Returns functions that let code in this server use models in the name of `caller`.
 *
 * @param allowance remaining token allowance of the caller; null if unlimited
 */
export function usedModels(
  dependencies: AskDependencies,
  caller: Caller,
  allowance: Allowance | null = null,
): UsedModels {
  return {
    ask: askModelAs(dependencies, caller, allowance),
    embed: async (texts, { signal }) => {
      const inputs = texts.map((text) => ({ kind: "text", text }) as const);
      const located = (error: unknown): unknown => error;
      const options = { signal, allowance, located };
      return (await dependencies.embeddings.embed({ model: null, inputs, dimensions: null }, caller, options))
        .embeddings;
    },
  };
}

function askModelAs(
  { chat, settings }: AskDependencies,
  caller: Caller,
  allowance: Allowance | null,
): AskModel {
  return async (body, { signal }) => {
    const { request, form } = readChatRequest(body, bodyLimits(settings));
    const [unserved] = request.unserved;
    if (unserved !== undefined) throw new ServiceError({ code: "unsupported", message: unserved.message });
    await loopTurns.next(caller.entity);
    const completion = await chat.begin(request, caller, { signal, allowance });
    try {
      const answer = chatAnswer(request, form, { header: completion.header, take: () => undefined });
      for await (const deltas of completion.deltas) answer.add(deltas);
      // Safe cast: the answer to a request with one choice has at least these fields.
      return JSON.parse(JSON.stringify(answer.end(completion.usage))) as ModelAnswer;
    } finally {
      await completion.leave();
    }
  };
}
