// Errors as data. Between threads and processes, an error loses its class and its `code`. An error whose cause cannot
// be cloned is not transferred at all.
import { fullDiskError } from "../domain/transient-errors/full-disk.ts";
import { ServiceError, type ServiceErrorOptions } from "../domain/service-error.ts";

export interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Code of a system error, such as `ENOSPC`. */
  readonly code: string | null;
  /** Properties of a `ServiceError` besides its message; null for other errors. */
  readonly refusal: Omit<ServiceErrorOptions, "message" | "cause"> | null;
  readonly cause: SerializedError | null;
}

/** Converts an error and its causes to data. */
export function serializeError(thrown: unknown): SerializedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    code: "code" in error && typeof error.code === "string" ? error.code : null,
    refusal: error instanceof ServiceError ? refusalOf(error) : null,
    cause: cause === undefined ? null : serializeError(cause),
  };
}

/** A `ServiceError` as data. */
export type Failure = SerializedError & { readonly refusal: NonNullable<SerializedError["refusal"]> };

/**
 * Converts an error to the data of a `ServiceError`. An error that callers must not see becomes the cause of an
 * `internal` error with the message `internalMessage`, so that only the log contains it.
 */
export function failureOf(error: unknown, internalMessage: string): Failure {
  const known = error instanceof ServiceError ? error : fullDiskError(error);
  const said = known ?? new ServiceError({ code: "internal", message: internalMessage, cause: error });
  return { ...serializeError(said), refusal: refusalOf(said) };
}

/** Restores a `ServiceError` and its causes. */
export function toServiceError(failure: Failure): ServiceError {
  const { refusal, message, stack, cause } = failure;
  const causes = cause === null ? {} : { cause: deserializeError(cause) };
  return Object.assign(new ServiceError({ ...refusal, ...causes, message }), { stack });
}

/**
 * Restores an error and its causes. An error that was not a `ServiceError` becomes an `Error` with the original name.
 */
export function deserializeError({ name, message, stack, code, refusal, cause }: SerializedError): Error {
  const causes = cause === null ? {} : { cause: deserializeError(cause) };
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
