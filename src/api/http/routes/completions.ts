// POST /v1/completions: reads its requests and writes its answers. Each prompt becomes a chat request, and all prompts
// of a request run at the same time.
import type { RequestDeltas } from "../../../base/domain/chat.ts";
import { beginTogether, type BeginOne } from "../../../inference/chat/complete-together.ts";
import { answered } from "../documentation/document-routes.ts";
import { locate } from "../../wire/field-paths.ts";
import { completionChunks } from "../../wire/completions/completion-chunks.ts";
import {
  completionAnswerSchema,
  completionChunkSchema,
} from "../../wire/completions/completion-answer-schema.ts";
import { completionForm } from "../../wire/completions/completion-request.ts";
import { completionAnswer } from "../../wire/completions/completion-response.ts";
import type { AnsweringRoute } from "./answer-chat.ts";

export const completionRoute: AnsweringRoute<"completion", RequestDeltas> = {
  paths: ["/v1/completions"],
  kind: "completion",
  schema: {
    summary: "Create a text completion",
    description:
      "Continues one or more prompts, without a chat template. With `stream` the server sends the answer as server-sent events, the last of which is `[DONE]`. An invalid prompt is refused before the first event; a later error is an event with the usual error body.",
    body: completionForm.schema,
    response: answered("A completion.", { json: completionAnswerSchema, events: completionChunkSchema }),
  },
  ask(read, begin) {
    const { requests, fieldPaths, form, ignored } = read;
    const beginOne: BeginOne = (index, options) =>
      begin(requests[index], { ...options, located: (error) => locate(error, fieldPaths[index]) });
    return {
      ignored,
      notices: [],
      isStream: form.isStream,
      begin: (signal) => beginTogether(requests.length, beginOne, signal),
      whole: (_, take) => completionAnswer(read, take),
      stream: (header) => completionChunks(read, header),
    };
  },
};
