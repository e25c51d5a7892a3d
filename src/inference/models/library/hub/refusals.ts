// Translates a hub's error responses into errors that name a cure. The hub names the fault in a special header, but
// mirrors may omit it, so the status must suffice too.
import { retryAfterSeconds } from "../../../../base/domain/waiting/retry-after.ts";
import type { HttpAnswer } from "../../../../base/http-client/http-client.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { HubAccess } from "./access.ts";
import { Interruption } from "./interruption.ts";

/**
 * Returns the error for a response.
 *
 * @param what the requested thing: `owner/name`, with a revision if there is one
 * @returns null for a successful response; an {@link Interruption} if a retry may help
 */
export function refusalOf(
  { status, header }: Pick<HttpAnswer, "status" | "header">,
  what: string,
  access: Pick<HubAccess, "endpoint" | "token">,
): ServiceError | Interruption | null {
  if (status >= 200 && status < 300) return null;
  const { endpoint } = access;
  if (status === 429)
    return new Interruption(`${endpoint} accepts no more requests for now`, { pauseMs: askedPause(header) });
  if (status >= 500 || status === 408)
    return new Interruption(`${endpoint} answers with status ${status}`, { pauseMs: askedPause(header) });
  const word = header("x-error-code");
  if (word === "GatedRepo") {
    return refused(
      "forbidden",
      `${what} has conditions. Accept them at ${endpoint}/${repositoryOf(what)}, and set HF_TOKEN to a token of that account.`,
    );
  }
  if (word === "RevisionNotFound")
    return refused(
      "not_found",
      `There is no ${what} at ${endpoint}; its branches and tags are listed there.`,
    );
  if (word === "EntryNotFound")
    return refused(
      "not_found",
      `${what} lacks a file that ${endpoint} lists; try again, or name another revision.`,
    );
  if (status === 401 || status === 403 || status === 404) return unknownOrPrivate(status, what, access);
  const said = header("x-error-message");
  return refused(
    "unavailable",
    `${endpoint} answers with status ${status}${said === null ? "" : ` (${said.slice(0, 200)})`}; is it a hub?`,
  );
}

/** Returns the error for a repository that is missing or private. The hub does not reveal which of the two applies. */
function unknownOrPrivate(
  status: number,
  what: string,
  { endpoint, token }: Pick<HubAccess, "endpoint" | "token">,
): ServiceError {
  const cure =
    token === null
      ? "set HF_TOKEN if it is private or has conditions"
      : "check that HF_TOKEN is still valid and may read it";
  const code = status === 404 ? "not_found" : "forbidden";
  return refused(code, `${endpoint} shows no ${what}. Check its spelling, and ${cure}.`);
}

/** Returns the milliseconds that the response asks to wait before a retry; null if it does not ask. */
function askedPause(header: HttpAnswer["header"]): number | null {
  const seconds = retryAfterSeconds(header("retry-after")) ?? 0;
  return seconds > 0 ? seconds * 1000 : null;
}

function repositoryOf(what: string): string {
  return what.split("@")[0] ?? what;
}

function refused(code: "forbidden" | "not_found" | "unavailable", message: string): ServiceError {
  return new ServiceError({ code, message });
}
