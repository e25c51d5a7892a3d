// POST /v1/responses: OpenAI's Responses API over the same chat service, without server-side state.
import { locate } from "../../wire/field-paths.ts";
import { responsesForm } from "../../wire/responses/responses-fields.ts";
import { responseEventSchema, responseSchema } from "../../wire/responses/responses-answer-schema.ts";
import { responseError, responseEvents, wholeResponse } from "../../wire/responses/response-events.ts";
import { toSentError } from "../../wire/responses/sent-paths.ts";
import { answered } from "../documentation/document-routes.ts";
import type { AnsweringRoute } from "./answer-chat.ts";

export const responseRoute: AnsweringRoute<"response"> = {
  paths: ["/v1/responses"],
  kind: "response",
  schema: {
    summary: "Create a response",
    description:
      "OpenAI's Responses API without server-side state: a request carries the whole conversation. With `stream` the server sends events named by their type. The last event is `response.completed`, `response.incomplete` or `error`, and no `[DONE]` follows. Fields of a chat request without a counterpart here mean the same as there.",
    body: responsesForm.schema,
    response: answered("A response.", { json: responseSchema, events: responseEventSchema }),
  },
  ask({ request, fieldPaths, origins, ignored, notices, form }, begin) {
    const response = { request, repeated: form.repeated };
    const located = (error: unknown): unknown => toSentError(locate(error, fieldPaths), origins);
    return {
      ignored,
      notices,
      isStream: form.isStream,
      isNamed: true,
      begin: (signal) => begin(request, { signal, located }),
      whole: (header, take) => wholeResponse(response, header, take),
      stream: (header, take) => responseEvents(response, header, take),
      failure: (body) => responseError(body, 0),
    };
  },
};
