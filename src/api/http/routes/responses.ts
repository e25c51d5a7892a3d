// POST /v1/responses: OpenAI's Responses API, on the same chat service as chat completions. The server keeps no state
// between requests.
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
      "Implements OpenAI's Responses API without server-side state, so each request contains the whole conversation. With `stream` the server sends server-sent events that are named by their type. The last event is `response.completed`, `response.incomplete` or `error`; no `[DONE]` follows. Fields of a chat request for which this API has no field of its own are accepted too, with the same meaning.",
    body: responsesForm.schema,
    response: answered(
      "A response. `instructions` and the fields listed after it repeat those of the request.",
      {
        json: responseSchema,
        events: responseEventSchema,
      },
    ),
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
