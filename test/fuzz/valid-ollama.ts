// Valid requests of Ollama's API, for the fuzzer.
import { chatForm } from "../../src/api/wire/ollama/chat-request.ts";
import { embedForm, embeddingsForm } from "../../src/api/wire/ollama/embed.ts";
import { generateForm } from "../../src/api/wire/ollama/generate-request.ts";
import { deleteForm, pullForm } from "../../src/api/wire/ollama/library.ts";
import { showForm } from "../../src/api/wire/ollama/models.ts";
import { requestsOf, type ValidRequest } from "./valid-request.ts";

const get = requestsOf("GET");
const post = requestsOf("POST");

const model = "tiny";
const user = { role: "user", content: "one two" };
const options = { temperature: 0.5, num_predict: 4, stop: ["x"], num_ctx: 9, repeat_last_n: -1 };
const called = { function: { name: "f", arguments: { a: 1 } } };
const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];

const chats: readonly object[] = [
  { messages: [user], options, think: false, keep_alive: "5m", logprobs: true, top_logprobs: 2 },
  {
    messages: [
      user,
      { role: "assistant", tool_calls: [called] },
      { role: "tool", tool_name: "f", content: "3" },
    ],
    tools,
    format: { type: "object" },
    stream: false,
    options,
  },
  { messages: [], think: "low" },
];

const prompts: readonly object[] = [
  { prompt: "a", system: "s", format: "json", options },
  { prompt: "a", raw: true, stream: false, options },
];

export function ollamaRequests(): readonly ValidRequest[] {
  return [
    get("/api/version"),
    get("/api/tags"),
    get("/api/ps"),
    post("/api/show", showForm, { model, verbose: true }),
    post("/api/pull", pullForm, { name: model, stream: false }),
    requestsOf("DELETE")("/api/delete", deleteForm, { model: "gone" }),
    ...chats.map((chat) => post("/api/chat", chatForm, { model, ...chat })),
    ...prompts.map((prompt) => post("/api/generate", generateForm, { model, ...prompt })),
    post("/api/embed", embedForm, { model, input: ["a", "b"], dimensions: 2, truncate: true }),
    post("/api/embeddings", embeddingsForm, { model, prompt: "a" }),
  ];
}
