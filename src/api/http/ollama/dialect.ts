// Recognizes requests to Ollama's API by their path, and writes errors in the form that Ollama's clients read: a single
// text in the member `error`.
import type { FastifyRequest } from "fastify";
import { ollamaError } from "../../wire/ollama/error.ts";
import type { ErrorAnswer } from "../errors.ts";

/** Matches the paths of Ollama's API. Routes of the Tinker API and of Langfuse begin with `/api/`, too. */
const ownPaths = /^(?:\/v1\/preview\/models\/[^/]+\/rollouts\/[^/]+)?\/api\/(?!v1\/|public\/)/;

export function isOllamas(url: string): boolean {
  return ownPaths.test(url);
}

/** Returns the error answer in the form that the request's client expects. */
export function sentError(
  answer: ErrorAnswer,
  { url }: Pick<FastifyRequest, "url">,
): Omit<ErrorAnswer, "body"> & { readonly body: object } {
  if (!isOllamas(url)) return answer;
  // Ollama answers 400 for every invalid request.
  return { ...answer, status: answer.status === 422 ? 400 : answer.status, body: ollamaError(answer.body) };
}
