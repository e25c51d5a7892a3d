// Attempts to access another entity's models through the routes of Ollama's API. See `entity-routes`.
import { answers, type Attempt, get, modelNames, post } from "./entity-routes.ts";
import type { Things } from "./two-entities.ts";

const hi = { stream: false, options: { num_predict: 1 } };

/** Returns requests that try to access another entity's models. */
export function ollamaAttempts(other: Things): Readonly<Record<string, readonly Attempt[]>> {
  const named = (url: string, body: object = {}): readonly Attempt[] =>
    modelNames(other).map(({ name, ...status }) => ({
      ...post(url, { ...body, model: name }, 0),
      ...status,
    }));
  const refused = (name: string): readonly Attempt[] => [
    { ...post(`/api/${name}`, { model: other.name }, 400), statusOfOwner: 400 },
  ];
  return {
    "GET /api/version": [get("/api/version", 200)],
    "GET /api/tags": [get("/api/tags", 200)],
    "GET /api/ps": [get("/api/ps", 200)],
    "POST /api/show": named("/api/show"),
    "POST /api/pull": named("/api/pull", { stream: false }),
    "POST /api/chat": answers(other, "/api/chat", { ...hi, messages: [{ role: "user", content: "Hi" }] }),
    "POST /api/generate": answers(other, "/api/generate", { ...hi, prompt: "Hi" }),
    "POST /api/embed": answers(other, "/api/embed", { input: ["Hi", "Ho"] }),
    "POST /api/embeddings": answers(other, "/api/embeddings", { prompt: "Hi" }),
    "POST /api/copy": refused("copy"),
    "POST /api/create": refused("create"),
    "POST /api/push": refused("push"),
    // No model has this version, so that the owner's own attempt deletes nothing either.
    "DELETE /api/delete": modelNames(other)
      .filter(({ name }) => name.endsWith(":step9"))
      .map(({ name, ...status }) => ({
        method: "DELETE",
        url: "/api/delete",
        body: { model: name },
        ...status,
        statusOfOwner: 404,
      })),
  };
}
