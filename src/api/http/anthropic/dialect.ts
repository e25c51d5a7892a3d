// Detects requests from clients of Anthropic's API, by the header `anthropic-version` or by the path. Errors for these
// clients also have the members of Anthropic's error body.
import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "../../../base/domain/service-error.ts";
import { errorAnswer, type ErrorAnswer } from "../errors.ts";

type Asked = Pick<FastifyRequest, "id" | "headers" | "url">;

/** Matches the paths of Anthropic's API, even those for which Hone has no route. */
const ownPaths = /^(?:\/v1\/preview\/models\/[^/]+\/rollouts\/[^/]+)?\/v1\/messages(?:[/?]|$)/;

export function isAnthropics({ headers, url }: Pick<Asked, "headers" | "url">): boolean {
  return headers["anthropic-version"] !== undefined || ownPaths.test(url);
}

/**
 * Returns the error answer for any thrown value, in the format that the request's client expects.
 *
 * @throws never
 */
export function errorAnswerFor(error: unknown, request: Asked): ErrorAnswer {
  const answer = errorAnswer(error, request.id);
  return isAnthropics(request) ? anthropicAnswer(answer, request.id) : answer;
}

interface CodeRule {
  readonly type: string;
  /** HTTP statuses of Anthropic's API where they differ from Hone's, keyed by Hone's status. */
  readonly statuses?: Readonly<Record<number, number>>;
}

/** Error types of Anthropic's API (https://platform.claude.com/docs/en/api/errors), keyed by Hone's error code. */
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
