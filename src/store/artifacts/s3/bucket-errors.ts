// What a store of objects, or the network before it, says when it does not do what it was asked, in words for an operator:
// which bucket, which key, and what helps. Pure: it only reads errors.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { type BucketPlace, bucketUrl } from "./bucket-place.ts";

/** Until a caller should try again. */
const retryAfterSeconds = 5;

/** What is to be done, by the name that the store or its client has for it. */
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

/** Whether trying once more a moment later may help, with no one doing anything. */
export function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== null) return status >= 500 || status === 408 || status === 429;
  return cures[nameOf(error)] === undefined || nameOf(error) === "ENOTFOUND";
}

/** Whether the store says that it has no such object; a bucket that is missing is something else. */
export function isNoObject(error: unknown): boolean {
  return statusOf(error) === 404 && nameOf(error) !== "NoSuchBucket";
}

/**
 * The error for callers: what needs the store waits for it, and loses nothing.
 *
 * @param what was asked, such as "read"
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
  const cure = cures[nameOf(cause)] ?? "It is tried again; nothing that was stored is lost.";
  return new ServiceError({
    code: "unavailable",
    message: `${JSON.stringify(key)} in ${bucketUrl(place)} cannot be ${what}: ${reason}. ${cure}`,
    retryAfterSeconds,
    obstacle: "blobs-away",
    cause,
  });
}

function statusOf(error: unknown): number | null {
  // The client's own: the answer's status, where there was one.
  const metadata = (error as { readonly $metadata?: { readonly httpStatusCode?: unknown } } | null)
    ?.$metadata;
  return typeof metadata?.httpStatusCode === "number" ? metadata.httpStatusCode : null;
}

/** The store's code, or the system's of a connection. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
