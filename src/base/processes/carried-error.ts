// Errors as data: between threads and processes an error keeps neither its class nor its `code`, and one with a cause that
// cannot be copied does not pass at all.
import { fullDiskError } from "../domain/transient-errors/full-disk.ts";
import { ServiceError, type ServiceErrorOptions } from "../domain/service-error.ts";

export interface CarriedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** What the system calls it, such as `ENOSPC`. */
  readonly code: string | null;
  /** What a `ServiceError` says beside its message. */
  readonly refusal: Omit<ServiceErrorOptions, "message" | "cause"> | null;
  readonly cause: CarriedError | null;
}

/** An error as data, with its causes. */
export function carried(thrown: unknown): CarriedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    code: "code" in error && typeof error.code === "string" ? error.code : null,
    refusal: error instanceof ServiceError ? refusalOf(error) : null,
    cause: cause === undefined ? null : carried(cause),
  };
}

/** A `ServiceError` as data. */
export type Failure = CarriedError & { readonly refusal: NonNullable<CarriedError["refusal"]> };

/** The error as one for callers: where it is not meant for them, `internal` with `internalMessage`, and a cause for the log. */
export function failureOf(error: unknown, internalMessage: string): Failure {
  const known = error instanceof ServiceError ? error : fullDiskError(error);
  const said = known ?? new ServiceError({ code: "internal", message: internalMessage, cause: error });
  return { ...carried(said), refusal: refusalOf(said) };
}

/** The error again, with its causes. */
export function errorOf(failure: Failure): ServiceError {
  const { refusal, message, stack, cause } = failure;
  const causes = cause === null ? {} : { cause: revived(cause) };
  return Object.assign(new ServiceError({ ...refusal, ...causes, message }), { stack });
}

/** The error again; one that was no `ServiceError` is an `Error` of its own name. */
export function revived({ name, message, stack, code, refusal, cause }: CarriedError): Error {
  const causes = cause === null ? {} : { cause: revived(cause) };
  const error =
    refusal === null ? new Error(message, causes) : new ServiceError({ ...refusal, ...causes, message });
  return Object.assign(error, { name, stack }, code === null ? {} : { code });
}

function refusalOf({ code, faults, retryAfterSeconds, obstacle }: ServiceError): Failure["refusal"] {
  return {
    code,
    faults,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  };
}
