// POST /v1/chat/completions: how its request is read, and how its answer is spelled.
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/places.ts";
import { chatAnswerSchema, chatChunkSchema } from "../../wire/chat/chat-answer-schema.ts";
import { chatChunks } from "../../wire/chat/chat-chunks.ts";
import { chatRequestSchema } from "../../wire/chat/chat-request.ts";
import { chatAnswer } from "../../wire/chat/chat-response.ts";
import type { AnsweringRoute } from "./answer-chat.ts";

export const chatCompletionRoute: AnsweringRoute<"chat"> = {
  paths: ["/v1/chat/completions", "/v1/chat/completions/"],
  kind: "chat",
  schema: {
    summary: "Create a chat completion",
    description:
      "Answers a conversation, whole or, with `stream`, as events that end with `[DONE]`; an error on the way is one event with the body that errors have. Numbers are IEEE doubles. Fields that nothing reads are named in the response header `x-hone-ignored`.",
    body: chatRequestSchema,
    response: answered("A completion.", { json: chatAnswerSchema, events: chatChunkSchema }),
  },
  ask: ({ request, form, places, ignored, notices }, begin) => ({
    ignored,
    notices,
    isStream: form.isStream,
    begin: (signal) => begin(request, { signal, located: (error) => locate(error, places) }),
    whole: (header, take) => chatAnswer(request, form, { header, take }),
    stream: (header) => chatChunks(request, form, header),
  }),
};
