// Errors of sign-in.
import { ServiceError } from "../../base/domain/service-error.ts";

/** @param what the fault, as a sentence without its full stop */
export function unauthorized(what: string): ServiceError {
  return new ServiceError({ code: "unauthorized", message: `${what}.` });
}

/** Refusal of an expired token that the issuer signed for this server, which does not count as guessing. */
export class TokenExpired extends ServiceError {
  constructor() {
    super({ code: "unauthorized", message: "The token has expired; sign in again." });
  }
}
