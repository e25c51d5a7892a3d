// Whose clients a request comes from, where that changes how it is answered: those of Anthropic's API are known by the header
// `anthropic-version` and by their paths. Their errors have the members of its API beside those that errors have here.
import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "../../../base/domain/service-error.ts";
import { errorAnswer, type ErrorAnswer } from "../errors.ts";

type Asked = Pick<FastifyRequest, "id" | "headers" | "url">;

/** What is below this path is Anthropic's, also where there is no such route. */
const ownPaths = /^\/v1\/messages(?:[/?]|$)/;

export function isAnthropics({ headers, url }: Pick<Asked, "headers" | "url">): boolean {
  return headers["anthropic-version"] !== undefined || ownPaths.test(url);
}

/**
 * The whole answer for anything thrown, as the request's client reads it.
 *
 * @throws never
 */
export function errorAnswerFor(error: unknown, request: Asked): ErrorAnswer {
  const answer = errorAnswer(error, request.id);
  return isAnthropics(request) ? anthropicAnswer(answer, request.id) : answer;
}

interface CodeRule {
  readonly type: string;
  /** Of a status that Anthropic's API does not answer with the one that it does. */
  readonly statuses?: Readonly<Record<number, number>>;
}

/** As https://platform.claude.com/docs/en/api/errors has them. */
const rules: { readonly [Code in ErrorCode]: CodeRule } = {
  invalid: { type: "invalid_request_error", statuses: { 422: 400 } },
  unsupported: { type: "invalid_request_error" },
  unauthorized: { type: "authentication_error" },
  forbidden: { type: "permission_error" },
  not_found: { type: "not_found_error" },
  conflict: { type: "conflict_error" },
  too_large: { type: "request_too_large" },
  too_slow: { type: "timeout_error" },
  overloaded: { type: "rate_limit_error" },
  full: { type: "rate_limit_error" },
  unavailable: { type: "overloaded_error", statuses: { 503: 529 } },
  cancelled: { type: "api_error" },
  timeout: { type: "timeout_error", statuses: { 503: 504 } },
  internal: { type: "api_error" },
};

function anthropicAnswer({ status, body, ...answer }: ErrorAnswer, requestId: string): ErrorAnswer {
  const { type, statuses = {} } = rules[body.error.code];
  return {
    ...answer,
    status: statuses[status] ?? status,
    body: { type: "error", error: { ...body.error, type }, request_id: requestId, detail: body.detail },
  };
}
