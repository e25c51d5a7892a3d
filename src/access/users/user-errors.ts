// Errors that callers without an API key get when their sign-in is refused.
import { ServiceError } from "../../base/domain/service-error.ts";

/** @param what description of the fault: a sentence without its full stop */
export function unauthorized(what: string): ServiceError {
  return new ServiceError({ code: "unauthorized", message: `${what}.` });
}

/**
 * Refusal of an expired token. It does not count as an attempt to guess a secret, because the issuer really signed the
 * token for this server.
 */
export class TokenExpired extends ServiceError {
  constructor() {
    super({ code: "unauthorized", message: "The token has expired; sign in again." });
  }
}
