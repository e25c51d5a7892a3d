// Errors of sign-in.
import { ServiceError } from "../../base/domain/service-error.ts";

/** @param what description of the fault: a sentence without its full stop */
export function unauthorized(what: string): ServiceError {
  return new ServiceError({ code: "unauthorized", message: `${what}.` });
}

/** Refusal of an expired token. The issuer signed it for this server, so the refusal does not count as a guess. */
export class TokenExpired extends ServiceError {
  constructor() {
    super({ code: "unauthorized", message: "The token has expired; sign in again." });
  }
}
