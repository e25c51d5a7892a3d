// Translates errors of an object store or the network into messages for an operator. A message contains the bucket, the
// key and a remedy. Pure functions.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { type BucketPlace, bucketUrl } from "./bucket-place.ts";

/** Delay in seconds after which the errors ask clients to retry. */
const retryAfterSeconds = 5;

/** Remedies for operators, by the name that the store or its client library gives the error. */
const cures: Readonly<Record<string, string>> = {
  NoSuchBucket: "There is no such bucket: make it, or name another.",
  AccessDenied:
    "These credentials must be allowed to list the bucket, and to get, put and delete objects in it.",
  InvalidAccessKeyId: "The store does not know AWS_ACCESS_KEY_ID.",
  SignatureDoesNotMatch: "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID.",
  ExpiredToken:
    "The credentials have expired: give others, and start the server again where they are its environment's.",
  CredentialsProviderError:
    "Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role that has them.",
  PermanentRedirect: "The bucket is in another region: name that with AWS_REGION.",
  AuthorizationHeaderMalformed: "The bucket is in another region: name that with AWS_REGION.",
  RequestTimeTooSkewed: "The clock of this machine is wrong: set it.",
  ENOTFOUND:
    "See that AWS_ENDPOINT_URL names the store, and that HONE_BLOBS ends with ?path-style=on where it has no host for each bucket.",
};

/** True if a retry may succeed although the operator changes nothing. */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== null) return status >= 500 || status === 408 || status === 429;
  return cures[nameOf(error)] === undefined || nameOf(error) === "ENOTFOUND";
}

/** True if the store has no such object; a missing bucket is a different error. */
export function isMissingObject(error: unknown): boolean {
  return statusOf(error) === 404 && nameOf(error) !== "NoSuchBucket";
}

/**
 * Converts an error of the store for callers, with the code `unavailable`. A job that fails with it waits until the
 * store is available again, and loses no data.
 *
 * @param what attempted operation, such as "read"
 */
export function bucketError(
  place: BucketPlace,
  { what, key }: { readonly what: string; readonly key: string },
  cause: unknown,
): ServiceError {
  const reason =
    cause instanceof Error
      ? `${nameOf(cause)}${cause.message && cause.message !== nameOf(cause) ? `: ${cause.message}` : ""}`
      : String(cause);
  const cure = cures[nameOf(cause)] ?? "Hone tries again; nothing that was stored is lost.";
  return new ServiceError({
    code: "unavailable",
    message: `${JSON.stringify(key)} in ${bucketUrl(place)} cannot be ${what}: ${reason}. ${cure}`,
    retryAfterSeconds,
    obstacle: "blobs-away",
    cause,
  });
}

function statusOf(error: unknown): number | null {
  // The client library puts the HTTP status of the response into this field. Without a response, the field is absent.
  const metadata = (error as { readonly $metadata?: { readonly httpStatusCode?: unknown } } | null)
    ?.$metadata;
  return typeof metadata?.httpStatusCode === "number" ? metadata.httpStatusCode : null;
}

/** Returns the error code of the store; for a connection error, the error code of the operating system. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
