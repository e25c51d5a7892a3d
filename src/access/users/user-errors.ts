// Errors of sign-in.
import { ServiceError } from "../../base/domain/service-error.ts";

/** @param what description of the fault: a sentence without its full stop */
export function unauthorized(what: string): ServiceError {
  return new ServiceError({ code: "unauthorized", message: `${what}.` });
}

/**
 * Refusal of an expired token. The issuer really signed the token for this server. The refusal is therefore not
 * counted as an attempt to guess a secret.
 */
export class TokenExpired extends ServiceError {
  constructor() {
    super({ code: "unauthorized", message: "The token has expired; sign in again." });
  }
}
