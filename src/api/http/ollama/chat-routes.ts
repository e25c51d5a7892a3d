// POST /api/chat and /api/generate: Ollama's API, on the same chat service as chat completions.
import { answerLines, wholeAnswer } from "../../wire/ollama/answer-lines.ts";
import {
  chatAnswerSchema,
  chatLineSchema,
  generateAnswerSchema,
  generateLineSchema,
} from "../../wire/ollama/answer-schema.ts";
import { chatForm } from "../../wire/ollama/chat-request.ts";
import { ollamaError } from "../../wire/ollama/error.ts";
import { generateForm } from "../../wire/ollama/generate-request.ts";
import type { ReadOllama } from "../../wire/ollama/read-request.ts";
import { toSentError } from "../../wire/ollama/sent-paths.ts";
import { locate } from "../../wire/field-paths.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { AnsweringRoute, BeginChat, PreparedChat } from "../routes/answer-chat.ts";
import { ollamaAnswered } from "./answers.ts";

type Clock = Pick<HttpDependencies, "clock">;

export function ollamaChatRoute({ clock }: Clock): AnsweringRoute<"Ollama chat"> {
  return {
    paths: ["/api/chat"],
    kind: "Ollama chat",
    tag: "ollama",
    schema: {
      summary: "Chat, in Ollama's API",
      description:
        "Implements Ollama's chat; [ollama.md](../guides/ollama.md) describes how its fields are converted to those of a chat request. The answer is a stream of lines of JSON unless `stream` is false. An error during the stream is the last line.",
      body: chatForm.schema,
      response: ollamaAnswered("The next message.", { json: chatAnswerSchema, ndjson: chatLineSchema }),
    },
    ask: (read, begin) => prepare(read, begin, { clock }),
  };
}

export function ollamaGenerateRoute({ clock }: Clock): AnsweringRoute<"Ollama completion"> {
  return {
    paths: ["/api/generate"],
    kind: "Ollama completion",
    tag: "ollama",
    schema: {
      summary: "Complete a prompt, in Ollama's API",
      description:
        "Answers a prompt through the model's chat template, or with `raw` continues the prompt as it is. The answer has the form of `POST /api/chat`, with its text in `response`.",
      body: generateForm.schema,
      response: ollamaAnswered("The completion.", { json: generateAnswerSchema, ndjson: generateLineSchema }),
    },
    ask: (read, begin) => prepare(read, begin, { clock }),
  };
}

function prepare(
  { request, form, fieldPaths, sentMessages, ignored, notices }: ReadOllama,
  begin: BeginChat,
  { clock }: Clock,
): PreparedChat<Parameters<ReturnType<typeof answerLines>["add"]>[0]> {
  const asked = { form, clock, requestedMs: clock.monotonicMs() };
  const located = (error: unknown): unknown => toSentError(locate(error, fieldPaths), sentMessages);
  return {
    ignored,
    notices,
    isStream: form.isStream,
    isLines: true,
    begin: (signal) => begin(request, { signal, located }),
    whole: (header, take) => wholeAnswer({ ...asked, header }, take),
    stream: (header) => ({
      ...answerLines({ ...asked, header }),
      fail: (body) => [ollamaError(body)],
    }),
    failure: ollamaError,
  };
}
