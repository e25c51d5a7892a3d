// Answers chat requests of code in this server, such as graders, in the format of the API. They take the same path as
// the requests of clients.
import type { Caller } from "../../base/domain/access.ts";
import type { AskModel, ModelAnswer } from "../../base/domain/fine-tuning/ask-model.ts";
import type { Allowance } from "../../base/domain/keys/limits.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { chatAnswer } from "../wire/chat/chat-response.ts";
import { readChatRequest } from "../wire/chat/read-chat-request.ts";
import type { ChatPort } from "./dependencies.ts";
import { bodyLimits, type HttpSettings } from "./settings.ts";

export interface AskDependencies {
  readonly chat: ChatPort;
  readonly settings: HttpSettings;
}

/**
 * Returns a function with which code in this server asks models as `caller`.
 *
 * @param allowance remaining token allowance of the caller; null if unlimited
 */
export function askModelAs(
  { chat, settings }: AskDependencies,
  caller: Caller,
  allowance: Allowance | null = null,
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
      // Safe cast: the answer to a request with one choice at least has these fields.
      return JSON.parse(JSON.stringify(answer.end(completion.usage))) as ModelAnswer;
    } finally {
      await completion.leave();
    }
  };
}
