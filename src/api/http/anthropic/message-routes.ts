// POST /v1/messages and /v1/messages/count_tokens: Anthropic's Messages API, on the same chat service as chat
// completions.
import type { FastifyInstance } from "fastify";
import { messageEvents, ping, wholeMessage } from "../../wire/messages/message-events.ts";
import {
  messageEventSchema,
  messageSchema,
  tokenCountSchema,
} from "../../wire/messages/messages-answer-schema.ts";
import { countForm, messagesForm } from "../../wire/messages/messages-fields.ts";
import { toSentError } from "../../wire/messages/sent-paths.ts";
import { locate } from "../../wire/field-paths.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { toAbortReason, mapErrors } from "../request-lifecycle.ts";
import { abandonedSignal } from "../request-scope.ts";
import type { AnsweringRoute } from "../routes/answer-chat.ts";

export const messageRoute: AnsweringRoute<"message"> = {
  paths: ["/v1/messages"],
  kind: "message",
  schema: {
    summary: "Create a message",
    description:
      "Implements Anthropic's Messages API; [anthropic.md](../guides/anthropic.md) describes how its fields are converted to those of a chat request. With `stream` the server sends server-sent events that are named by their type. The last event is `message_stop` or `error`; no `[DONE]` follows. Fields of a chat request for which this API has no field of its own are accepted too, with the same meaning.",
    body: messagesForm.schema,
    response: answered("A message.", { json: messageSchema, events: messageEventSchema }),
  },
  ask: ({ request, fieldPaths, origins, ignored, notices, isStream }, begin) => ({
    ignored,
    notices,
    isStream,
    isNamed: true,
    keepAliveEvent: ping,
    begin: (signal) =>
      begin(request, { signal, located: (error) => toSentError(locate(error, fieldPaths), origins) }),
    whole: (header) => wholeMessage(request, header),
    stream: (header) => messageEvents(request, header),
  }),
};

export function tokenCountRoute(
  app: FastifyInstance,
  { tokenization, settings }: HttpDependencies,
  bodies: BodyReader,
): void {
  endpoints(app, { tag: "chat", scheme: "bearer" })(
    "POST /v1/messages/count_tokens",
    {
      summary: "Count the tokens of a message's prompt",
      description:
        "Returns the number of prompt tokens of a message request with the same fields, without generating an answer.",
      body: bodies.form("token count", countForm),
      answer: "The number of tokens.",
      json: tokenCountSchema,
      options: { bodyLimit: settings.chatBodyBytes },
    },
    async ({ body: { request: asked, fieldPaths, origins }, caller, reply }) => {
      const signal = abandonedSignal(reply);
      const { tokenIds } = await mapErrors(tokenization.tokenize(asked, caller, { signal }), (error) =>
        toSentError(locate(toAbortReason(error, signal), fieldPaths), origins),
      );
      return { input_tokens: tokenIds.length };
    },
  );
}
